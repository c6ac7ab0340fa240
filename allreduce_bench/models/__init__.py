"""Models of measured times: the cost of a message and a byte, and what that predicts.

In: rows of `evaluation`, or points of importers. Out: prices with intervals, and times at other ranks and sizes. Read
in this order: `terms` (messages and bytes of a schedule), `alpha_beta` (their prices), `points` (the times to fit),
`anchor` (times begin at what was measured), `intervals` (how far off they are), `fitting`, `model`, `machine` (a file
of models); `bounds`, `prediction`, `crossings`, `curves` (to draw), `words` and `listing` (to read); of other
all-reduces `known_algorithms`; `checkpoint_interval`.
"""
