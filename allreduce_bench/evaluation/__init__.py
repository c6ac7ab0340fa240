"""What the times say.

In: a run folder. Out: a row per cell, and facts about rows. Read in this order: `cell_times` (the calls of a cell),
`marks` (what launches said of it), `summary`, `summary_row` (a row per cell), `launch_states` (launches of two kinds),
`doubt` (which can be ranked; `competitors`), `standing` (who is fastest at a size; `contest`, `telling`, `spread`),
`verdict` (who wins from where to where; `hand_over`), `grade`, `link_limit`, `agreement` (bits), `wrong_clusters`,
`group_losses`, `node_pairs`, `acceptance`, `missing`, `environment` (what launches ran on), `frames` (data frames);
`comparison` holds runs against runs.
"""
