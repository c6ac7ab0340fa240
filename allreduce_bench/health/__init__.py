"""Nodes and links that are slower than their peers, from messages between pairs of nodes, or tables of pairs.

In: hosts, or a table of pairs. Out: nodes and links that are slow, with the evidence. Read in this order: `rounds`
(which pairs, and when), `pair_folder` (what is kept), `rank` (messages between the ranks of a pair), `pair_launch`
(launches of ranks), `check` (a whole check); `pair_tables` (tables of other tools); `polish`, `blocks`, `failed_pairs`
(statistics), `judgement` (slow nodes and links); `output` and `map` (for people), `command`.
"""
