"""Evaluation of the times of a run.

In: a run folder. Out: a row per cell, and facts about rows. Read in this order: `cell_times` (the calls of a cell),
`missing` (how cells ended), `summary`, `summary_row` (a row per cell), `launch_states` (launches of two kinds),
`competitors` (which times are compared, which are doubted), `spread` (what noise lets tell), `verdict` (the fastest
at a size, winners over ranges of sizes, switch points), `factor`, `winners_elsewhere` (other placements, late
ranks), `single_algorithm`, `grade`, `limits`, `agreement` (bits, wrong results), `group_losses`, `acceptance`,
`environment` (the hardware and software of launches), `frames` (data frames).
"""
