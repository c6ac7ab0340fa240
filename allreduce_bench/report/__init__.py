"""What people and programs get to read.

In: rows of `evaluation`, models, facts of launches. Out: sentences, tables, figures, a page. Read in this order:
`table` (the end of a run in a terminal), `page` (HTML), `pictures` (files of figures), `figure` (what each declares),
`figures` (found by scanning; `scaling` is the one to copy), `drawn_bounds`, `how_measured`, `how_imported`, `caveats`,
`distribution`, `forecast`; `formats` are for other programs.
"""
