"""From measured times to models of them: what a message and a byte cost, and what that predicts.

In: rows of `evaluation`, or points of importers. Out: models with intervals, and times they predict. Read in this
order: `terms` (what a schedule does), `forms` (what each of it costs), `points`, `series` and `joint` (which times are
fitted), `fitting`, `choice` (of the form), `intervals` and `scores` (how far off), `model`, `description` (in words),
`machine` (a file of models), `bounds`, `prediction`, `crossings`; `native` is about the library's own all-reduce.
"""
