"""Pages and pictures of algorithms: every message of every round, from the schedules that `verify` proves.

In: the name of an algorithm and a number of ranks. Out: one HTML page without network, complete without script; a PNG,
a GIF. Read in this order: `drawing` (rounds as values, colours, and the shape of an algorithm), `scene` (positions of
ranks, and one moment in pixels), `page` (HTML), `pictures` (PNG and GIF); then `notebook`, `gallery`, `command`;
`messages` (their sentences).
"""
