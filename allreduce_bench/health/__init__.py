"""Which node or link is slower than its peers: rounds of messages between pairs of nodes, or tables of them.

In: hosts, or a table of pairs. Out: nodes and links that are slow, with the evidence. Read in this order: `pair_rounds`
(which pairs meet when), `rank` (what the ranks of a pair do), `pair_file` (what is kept), `pair_launch` (ranks started
and lost), `check` (all of a check); `pair_tables` (tables of other tools); `pair_statistics` (the numbers), `judgement`
(who is slow); `output` and `map` (what people read), `json_schema`, `command`.
"""
