"""Nodes and links that are slower than their peers, from messages between pairs of nodes, or tables of pairs.

In: hosts, or a table of pairs. Out: nodes and links that are slow, with the evidence. Read in this order: `pair_rounds`
(the rounds of pairs), `rank` (what the ranks of a pair do), `pair_file` (the folder of a check), `check` (launches of
ranks, and a whole check); `pair_tables` (tables of other tools); `judgement` (statistics of pairs, racks, slow nodes
and links); `output` and `map` (for people), `json_schema`, `messages`, `command`, `wing`.
"""
