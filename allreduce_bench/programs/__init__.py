"""All-reduces in programs of one's own: `Allreduce`, `PreparedAllreduces`, and a hook for PyTorch.

In: buffers and a communicator of the program around. Out: results in these buffers. Read in this order: `allreduce`
(the call, and `wrap`), `prepared` (what is kept for one communicator), `buffers`, `agreement` (what ranks compare),
`candidates` (what is worth a trial), `choices` and `choice_file` (what a file says instead), `bound` (a candidate ready
to run), `own_comm`, `settling` (trials and what is settled), `budget` (what trials may cost), `torch_hook`.
"""
