"""JSON Schemas of the files written for programs: building blocks, those of a run folder, the check.

In: the columns and the dataclasses that write and read the files. Out: a `Format` for each file. Read in this order:
`build`, `folder` (run.json, launches, rows of CSV), `check`. No rank loads any of it. Other rooms describe what they
write.
"""
