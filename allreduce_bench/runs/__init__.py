"""What is planned, and what is kept of it.

In: choices of a user. Out: a run folder, and its rows, read back without pandas. Read in this order: `cell`, `option`
and `words` (how a choice is declared, and said), `plan` (every choice, launches, cells; sizes and cuts), `start`
(launcher, hosts), `control` (what is asked for beside it), `groups`, `injected`, `dtypes`, `launch_choice`,
`command_of_plan` (parts of a plan), `schema` (the columns and the checksums), `recorder` (writes),
`rows`, `chain` (marks and raw times against their checksums), `kept` (an attempt) and `folder` (read back what was
finished, and what of it was damaged), `inventory` (which runs there are); `files` and `typed_json` read and write
carefully; `json_schema` describes the files.
"""
