"""The ranks of `workload --measure`: steps of a training over a real MPI."""
