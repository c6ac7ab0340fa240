"""From measured times to models of them: what a message and a byte cost, and what that predicts.

In: rows of `evaluation`, or points of importers. Out: models with intervals, and times they predict. Read in this
order: `terms` (what a schedule does), `forms` (what each of it costs), `points`, `states_of_points`, `usable_points`,
`series` and `joint` (which times are fitted), `fitting` and `intervals`, `model`, `machine` (a file of models),
`prediction`, `choice`, `crossings`.
"""
