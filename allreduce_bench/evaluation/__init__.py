"""What the times say.

In: a run folder. Out: a row per cell, and facts about rows. Read in this order: `cell_times` (the calls of a cell,
read back), `marks` (what launches said of it), `summary` and `summary_row` (a row per cell), `verdict` (who is
fastest where), `link_limit`, `agreement` (bits), `group_losses`, `node_pairs`, `acceptance`, `missing` (cells without
a time), `environment` (what the launches ran on), `frames` (the same as data frames); `spread` (what cells say of each
other's variance); `comparison` holds runs against runs.
"""
