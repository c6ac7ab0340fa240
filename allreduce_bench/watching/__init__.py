"""The line between ranks and whoever started them: who is alive, who was warned, whose fault it is.

In: what ranks say of themselves over a socket. Out: the rank that keeps the others waiting, and the end of all ranks.
Read in this order: `lifeline` (variables, signals), `watch` (a rank's end of the line), `whereabouts` (where a rank
is), `supervisor` (the other end: sockets), `patience` (when a launch is in trouble: no sockets), `blame` (on whose
account), `unattended` (ranks that nobody of ours started), `progress` and `live_line` (what a user sees of it).
"""
