"""Comparison of new runs with a baseline: which cells became slower, and by how much.

In: folders of runs, or logs of other tools, for each side. Out: a verdict for each cell, the result of a gate, and
both as text. Read in this order: `conditions` (the runs of both sides, and in what they differ), `matching` (the
cells of two sides), `replicates` (what counts once: a launch, a job, a round), `pairs` (verdicts on cells), `rounds`
(those of runs whose launches alternated), `judgement` (all of them, and the gate), `formats` (table, Markdown, JUnit,
JSON), `command`.
"""
