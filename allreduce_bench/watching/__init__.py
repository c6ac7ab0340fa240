"""What ranks tell their starter: that they live, where in the code they are, how far they have come.

In: the address of a supervisor (`launching`). Out: messages over a socket, and the end of this rank where nobody is
left. Read in this order: `lifeline` (variables, signals), `watch` (the rank's side of the connection), `whereabouts`
(the position of a rank in the code), `progress` (lines on stderr).
"""
