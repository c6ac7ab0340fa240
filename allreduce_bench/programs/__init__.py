"""What people import into programs of their own. Light: nothing here loads what measures, starts or reports.

In: a communicator of mpi4py or a process group of torch. `StepMonitor`, in this order: `step_monitor` (what a program
calls), `carrier`, `transport`, `mpi_transport`, `torch_transport` (messages of ranks), `common_clock`, `blocks` (the
steps of all ranks), `observer` (what is made of them), `output` (files) with `metrics`, `watchdog` with `stalls` and
`side_line` (where no step ends), `words`.
"""
