"""The all-reduces of a training step: which tensors, in which buckets, when, and what they cost the step.

In: the name of a model or the shapes of its tensors, and what an all-reduce costs. Out: the times of a step, a trace.
Read in this order: `tensors`, `architectures`, `model_files`, `shape_file`, `buckets`, `time_line`, `cost`, `step` (the
model), `request` (options), `result`, `tables`, `step_picture`; `measured`, `measuring` and `replay` (steps over a real
MPI); `command`.
"""
