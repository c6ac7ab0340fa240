"""What `exec --profile` puts first on PYTHONPATH where there is no mpicc: it counts calls of mpi4py in the ranks.

The interpreter of a rank imports `sitecustomize` at its start, from this folder. It need not have this package.
"""
