"""What people import into programs of their own: `Allreduce`, and what watches their training steps.

In: buffers and a communicator of the program around. Out: results in these buffers, facts about the calls. Read in
this order: `allreduce` (the function), `prepared` (what it keeps), `buffers`, `agreement` (all ranks ask for the same),
`candidates`, `bound` (one of them, proved and bound), `settling` (which one is taken) with `trial` and `band` (pure),
`choices` (which one a file says), `errors` (what ends a rank),
`torch_hook` (gradients of PyTorch).
"""
