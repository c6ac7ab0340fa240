"""The gallery of `explain --all`: a folder of pages that explain every algorithm and hold them against each other.

In: declarations, docstrings, verified schedules, models. Out: HTML pages that link to each other and to nothing else.
Read in this order: `telling` (what a docstring tells), `facts` (what schedules cost and promise, and the usual first
lesson held against them), `charts` (who wins where, and times over ranks), `glossary`, `site`.
"""
