"""Pages and pictures of algorithms: every message of every round, from the schedules that `verify` proves.

In: the name of an algorithm and a number of ranks. Out: one HTML page without network, complete without script and in
print; an SVG; a folder of pages about all. Read in this order: `drawing` (rounds as values, the shape of an algorithm),
`layout` (positions of ranks), `pictures` (SVG), `teaching` (prices and measured times), `page` (HTML); then `site`,
`notebook`, `command`.
"""
