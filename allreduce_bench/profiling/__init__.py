"""What the all-reduces of a program of yours are: `exec --profile` counts them, `run --like` measures the same.

In: the command of a user's program. Out: a profile, a JSON file with a row for each kind of all-reduce, and a table;
options of `run` from such a file. Read in this order: `profiled_program` (how a program is counted, and what is kept),
`library` (builds `count_allreduces.c`), `in_python` (does the same for mpi4py without a compiler), `rank_files` (what
the ranks counted), `profile` (the file and its schema), `table`, `like` (options of `run`).
"""
