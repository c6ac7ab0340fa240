"""What people import into programs of their own: `StepMonitor`, `Allreduce`, and a hook for PyTorch.

In: buffers and a communicator of the program around. Out: results in these buffers, facts about its steps. Read in this
order: `step_monitor`, `carrier`, `transport`, `mpi_transport`, `torch_transport`, `common_clock`, `device`, `blocks`,
`observer`, `output` with `metrics`, `watchdog` with `stalls` and `side_line`, `words`; `allreduce`, `prepared`,
`buffers`, `dlpack`, `passing_on`, `agreement`, `candidates`, `bound` with `workspace`, `own_comm`, `links`, `settling`
with `trial`, `band`, `budget` and `octave`, `choices` with `choice_file`, `errors`; `wrapped`; `torch_hook`.
"""
