"""StepMonitor: names a slow rank while a program of one's own runs, over MPI or torch.distributed."""
