"""What ranks do, from MPI_Init to the last row.

In: a plan and a launch of it. Out: one row per timed call, one mark per cell. Read in this order: `command` (a rank's
command line), `rank` (from start to end), `launch` (all cells of one launch), `cell` (one cell on all ranks), `repeat`
(check, then time until it is enough), `calls` (timed calls), `work` (what ranks do before them); then `sync` and
`clock` (the common start), `context` and `budget` (whether a cell runs, and how long), `schedules` (proofs), `vectors`
(inputs whose results are known), `accuracy` and `same_bits` (of results), `surroundings`. Apart: `hello`.
"""
