"""Nodes and links that are slower than their peers, from messages between pairs of nodes, or tables of pairs.

In: hosts, or a table of pairs. Out: nodes and links that are slow, with the evidence. Read in this order: `pairs`
(the rounds of pairs, the folder of a check), `rank` (messages between the ranks of a pair), `check` (launches of
ranks, and a whole check); `pair_tables` (tables of other tools); `judgement` (statistics of pairs, racks, slow nodes
and links); `output` and `map` (for people), `command`.
"""
