"""Evaluation of the times of a run.

In: a run folder. Out: a row per cell, and facts about rows. Read in this order: `summary_row` (a row), `cell_times`
(the calls of a cell; which rows compete, which times are doubted), `missing` (how cells ended), `summary` (a row per
cell), `launch_states` (two levels of launches, one apart), `verdict` (the fastest at a size,
winners over ranges of sizes, crossovers),
`single_algorithm`, `grade`, `limits`, `agreement` (bits, wrong results), `acceptance`, `environment`
(the hardware and software of launches), `frames` (data frames).
"""
