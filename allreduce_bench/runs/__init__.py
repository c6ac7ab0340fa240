"""What is planned, and what is kept of it.

In: choices of a user. Out: a run folder, and its rows, read back without pandas. Read in this order: `cell`, `plan`
(every choice, launches, cells), `sizes` and `cuts` (made for a plan), `start`, `hosts`, `nodelist`, `groups`, `dtypes`,
`launch_choice` (parts of a plan), `schema` (the columns and the checksums), `recorder` and `unfinished` (write),
`rows`, `chain` (the marks), `spans` (their raw times), `launch_facts`, `kept` (an attempt) and `folder` (read back what
was finished, and what of it was damaged), `summary_csv`, `inventory` (which runs there are); `json_schema` describes
the files; `pair_file` is the folder of a check of nodes.
"""
