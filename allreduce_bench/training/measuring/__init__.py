"""The ranks of `workload --measure`: steps of a training over a real MPI.

In: a `Request`, as JSON in a file. Out: the times of steps and of their parts, as JSON from rank 0. Read in this order:
`request`, `gradients` (all-reduces one at a time, as on one stream, and their vectors), `training_step`.
"""
