"""Evaluation of the times of a run.

In: a run folder. Out: a row per cell, and facts about rows. Read in this order: `cell_times` (the calls of a cell),
`marks` (reports of launches on it), `summary`, `summary_row` (a row per cell), `launch_states` (launches of two kinds),
`doubt` (which times are ranked; `competitors`), `standing` (the fastest at a size; `contest`, `telling`, `spread`),
`verdict` (winners over ranges of sizes; `hand_over`: switch points), `grade`, `limits`, `agreement` (bits),
`wrong_clusters`, `group_losses`, `acceptance`, `missing`, `environment` (the hardware and software of launches),
`frames` (data frames); `comparison` compares runs with runs; `node_blocks` (racks), `node_pairs`, `failed_pairs`,
`node_health`: slow nodes.
"""
