"""Pages and pictures of algorithms: every message of every round, from the schedules that `verify` proves.

In: the name of an algorithm and a number of ranks. Out: one HTML page without network, complete without script; a PNG,
a GIF. Read in this order: `drawing` (rounds as values), `layout` (where a rank stands), `colours`, `page`; of pictures
`scene` (the same layout in pixels, one moment of it) and `pictures` (PNG and GIF); then `notebook`, `gallery`,
`command`.
"""
