"""What the times say.

In: a run folder. Out: a row per cell, and facts about rows. Read in this order: `cell_times` (the calls of a cell,
read back), `marks` (what launches said of it), `summary` and `summary_row` (a row per cell), `competitors` and `doubt`
(which can be ranked), `standing` (who is fastest at a size; by `telling` and `spread`), `verdict` (who wins from where
to where; `hand_over`), `link_limit`, `agreement` (bits), `group_losses`, `node_pairs`, `acceptance`, `missing`,
`environment` (what the launches ran on), `frames` (data frames); `comparison` holds runs against runs.
"""
