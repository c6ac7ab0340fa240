"""The all-reduces of a training step: which tensors, in which buckets, when, and what they cost the step. No MPI.

In: the name of a model or the shapes of its tensors, and what an all-reduce costs. Out: the times of a step, its
memory, a trace. Read in this order: `tensors` (the gradients of a model), `architectures` (the models that are known),
`shape_file` and `call_file` (those of a user), `buckets` (PyTorch's packing), `fusion` (Horovod's), `cost` (of one
all-reduce), `time_line` (the events of a step), `doubts` (which of its times are speculative), `tensor_parallel` (where
ranks divide a model), `step` (all of it together), `rank_request` and `measured` (what ranks are asked, and found),
`memory`, `result`, `trace`, `json_schema`.
"""
