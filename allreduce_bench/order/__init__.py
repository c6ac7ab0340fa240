"""An order of ranks that suits the links between their hosts.

In: what a message between two hosts costs, from measured pairs. Out: a host for each rank, so that
an all-reduce is predicted to be short; as a file of `run --order`, or of a launcher. Read in this order:
`lockstep` (what messages cost, and what an order of hosts makes of a schedule), `tour` (orders of a ring),
`command`.
"""
