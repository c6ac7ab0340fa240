"""Which algorithm the library's own MPI_Allreduce runs, by evidence; and files that tell it which one to use.

`which`: `settings` and `rules` (what is set), `effects` (what a setting changes), `output`. `tune`: `tuning` (rules
from runs), `tuning_files` (as the libraries read them), `tuning_proof` (what runs with them, and how fast).
"""
