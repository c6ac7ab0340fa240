"""All-reduces in programs of one's own: `Allreduce`, `PreparedAllreduces`, and a hook for PyTorch.

In: buffers and a communicator of the program around. Out: results in these buffers.
"""
