"""Evaluation of the times of a run.

In: a run folder. Out: a row per cell, and facts about rows; no row is changed after it was made. Read in this order:
`frames` (calls -> medians of launches -> cells), `marks` (how cells ended), `summary_row` (a row), `summary` (a row per
cell, with the columns of all others), `launch_states` (two levels of launches, one apart), `doubts`, `grade`,
`competing` (which rows do), `rounds` (how two compare), `standings` (of one size), `verdict` (winners over ranges of
sizes), `forced_launches`, `single_algorithm`, `limits`, `agreement` (bits, wrong results), `acceptance`, `missing`,
`stamps`, `environment` (the hardware and software of launches).
"""
