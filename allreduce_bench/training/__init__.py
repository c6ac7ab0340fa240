"""The all-reduces of a training step: which tensors, in which buckets, when, and what they cost the step.

In: the name of a model or the shapes of its tensors, and what an all-reduce costs. Out: the times of a step, its
memory, a trace; `measuring` runs such steps over a real MPI.
"""
