"""Models of measured times: the cost of a message and a byte, and what that predicts.

In: rows of `evaluation`, or points of importers. Out: models with intervals, and times they predict. Read in this
order: `terms` (messages and bytes of a schedule), `forms` (their cost), `points`, `series` and `joint` (the times to
fit), `fitting` (fits, intervals, errors), `kept_fits` (of before), `model`, `words` (about it), `listing` (all of
them), `machine` (a file of models); `prediction`, `crossings`, `curves`; of other all-reduces
`known_algorithms` (names) and `rivals` (the library's own against others); `checkpoint_interval`.
"""
