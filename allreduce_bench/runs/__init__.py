"""What is planned, and what is kept of it.

In: choices of a user. Out: a run folder, and its rows, read back without pandas. Read in this order: `plan` (every
choice, launches, cells), `start`, `hosts`, `groups`, `dtypes`, `launch_choice` (parts of a plan), `schema` (the
columns), `recorder` (writes, with checksums), `kept` with `spans` and `chain` (one attempt read back and held against
its checksums), `rows`, `folder` (what was finished), `summary_csv`, `inventory` (which runs there are).
"""
