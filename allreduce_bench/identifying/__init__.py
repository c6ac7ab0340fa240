"""Which algorithm the library ran, by evidence: the order of additions, and messages that it counts.

In: a way to start ranks, and sizes. Out: for each size the algorithms of the library that fit what was seen. Read in
this order: `order` (trees of additions, from outside and from steps), `known` (what libraries have), `evidence` (what
fits), `probe` (what ranks do) with `counting` (messages) and `look` (what was seen, as JSON), `launch` (the
launches), `of_run` and `by_ranks` (what a run keeps of it).
"""
