"""StepMonitor: names a slow rank while a program of one's own runs, over MPI or torch.distributed.

In: calls of `ready()` and `step()` on each rank. Out: alerts, sentences, lines of JSON and a textfile for Prometheus.
Read in this order: `step_monitor`, `transport` (what carries rows; `mpi_transport`, `torch_transport`, `carrier`),
`blocks` (clocks and steps), `observer` (what is made of them), `words`, `output`, `watchdog` (where no step ends).
"""
