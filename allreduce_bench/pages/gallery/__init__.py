"""The gallery of `explain --all`: a folder of pages that explain every algorithm and compare them.

In: declarations, docstrings, verified schedules, models. Out: HTML pages that link to each other and to nothing else.
Read in this order: `facts` (docstrings in parts, costs and promises counted in schedules, and the usual first lesson
checked against them), `charts` (who wins where, and times over ranks), `site` (glossary and pages).
"""
