"""Which node or link is slower than its peers: rounds of messages between pairs of nodes, or tables of them.

In: hosts, or a table of pairs. Out: nodes and links that are slow, with the evidence.
"""
