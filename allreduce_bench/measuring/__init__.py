"""Work of the ranks, from MPI_Init to the last row.

In: a plan and a launch of it. Out: one row per timed call, one mark per cell. Read in this order: `command` (a rank's
command line), `startup` (before MPI_Init), `rank` (from start to end), `launch` (all cells of one launch), `cell` (one
cell), `repeat` (check, then time until precise), `calls` (timed calls), `work` (computation, late ranks); `clock` and
`sync` (the common start), `context` and `budget` (whether a cell runs, and how long), `in_groups` (concurrent
all-reduces), `cold_calls`, `schedules` (proofs, the compiled kernel), `vectors` (inputs with known results),
`same_bits` (of results), `transport` and `surroundings` (of a launch). Apart: `hello`.
"""
