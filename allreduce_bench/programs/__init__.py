"""All-reduces in programs of one's own: `Allreduce`, `PreparedAllreduces`, and a hook for PyTorch.

In: buffers and a communicator of the program around. Out: results in these buffers. Read in this order: `allreduce`
(the call, and `wrap`), `prepared` (the state of one communicator), `buffers`, `agreement` (comparisons across ranks),
`candidates` (algorithms worth a trial), `choices` (choices read from a file), `bound` (a candidate ready to run),
`own_comm` (the private communicator), `settling` (trials and the choice), `surviving` (calls that outlive lost ranks),
`checkpoints` and `checkpoint_costs` (of programs that are started again), `torch_hook`.
"""
