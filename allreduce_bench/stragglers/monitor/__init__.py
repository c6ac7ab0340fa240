"""StepMonitor: names a slow rank while a program of one's own runs, over MPI or torch.distributed.

In: calls of `ready()` and `step()` on each rank. Out: alerts, sentences and lines of JSON. Read in this order:
`step_monitor` (its `arguments`), `transport` (carries rows; `mpi_transport`, `torch_transport`, `transport_of_comm`),
`blocks` (clocks and steps), `observer` (judges them), `words` (what it says), `output` (the log), `watchdog` (stalls).
"""
