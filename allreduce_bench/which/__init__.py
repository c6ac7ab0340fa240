"""Which algorithm the library's own MPI_Allreduce ran, by evidence."""
