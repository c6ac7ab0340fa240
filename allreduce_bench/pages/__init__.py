"""Pages and pictures of algorithms: every message of every round, from the schedules that `verify` proves.

In: the name of an algorithm and a number of ranks. Out: one HTML page without network, complete without script; a PNG,
a GIF. Read in this order: `subject` (which schedules are shown), `drawing` (their rounds, as values), `shape` and
`layout` (where a rank stands), `colours`, `names` (how ranks are called), `steps` (what the script of a page computes
with), `page`. Pictures: `scene` (the same layout, in pixels), `moment`, `clearance` (where messages hide nothing),
`sentences`, `rounds_picture`, `moving_picture`, `notebook`.
"""
