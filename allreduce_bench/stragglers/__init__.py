"""Ranks and nodes that the others wait for, and the cost: in runs, in logs of jobs, and while a job runs.

In: when each rank was ready for each call, in seconds. Out: who is late, in numbers, sentences, tables and a figure.
Read in this order: `arrivals`; their sources: `sources`, `run_arrivals`, `kineto`, `monitor_log`, `synthetic` (arrivals
of known truth); who is late: `noise`, `slow_units`, `localise`, `verdict`; output: `sentences`, `section`, `document`
(JSON), `command`. `step_alarm` judges while a job runs, for `monitor`, which ranks import: its imports load no more
than numpy.
"""
