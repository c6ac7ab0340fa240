"""Which rank or node the others wait for, and what it costs: in runs, in logs of jobs, and while a job runs.

In: when each rank was ready for each call, in seconds. Out: a report of who is late, in numbers, sentences, tables and
a figure; `monitor` has StepMonitor, which ranks import, so what it needs loads no more than numpy.
"""
