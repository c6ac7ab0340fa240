"""The connection between the ranks and their starter: liveness, warnings, and which rank caused a hang.

In: messages of the ranks over a socket. Out: the rank that blocks the others, and the end of all ranks.
Read in this order: `lifeline` (variables, signals), `watch` (the rank's side of the connection), `whereabouts` (the
position of a rank in the code), `supervisor` (the other side: sockets), `patience` (detects trouble and its cause: no
sockets), `unattended` (ranks started by another program), `progress` and `live_line` (user output).
"""
