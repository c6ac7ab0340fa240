"""Which rank or node the others wait for, and what it costs: in runs, in logs of jobs, and while a job runs.

In: when each rank was ready for each call, in seconds. Out: who is late, in numbers, sentences, tables and a figure.
Read in this order: `arrivals`; where they are from: `sources`, `of_run`, `kineto`, `flight_recorder`, `nccl_ras`,
`monitor_log`, `synthetic` (arrivals of known truth); who is late: `noise`, `slow_units`, `localise`, `verdict`; who
is behind in calls: `progress`; what is said: `sentences`, `progress_sentences`, `section`, `document`, `command`.
`step_alarm` judges while a job runs, for `monitor`, which ranks import: what it needs loads no more than numpy.
"""
