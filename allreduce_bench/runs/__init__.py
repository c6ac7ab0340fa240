"""Plans, run folders and their files: what is planned, and what is kept of it.

In: choices of a user. Out: a run folder, and its rows, read back without pandas. Read in this order: `competitor`,
`cell`, `option` and `option_values` (how a choice is declared, and typed), `plan` (every choice, launches, cells),
`start` (launcher), `control` (options beside the plan), `cuts`, `sizes`, `hosts`, `groups`, `injected`, `dtypes`,
`launch_choice`, `command_of_plan` (parts of a plan), `conditions` (those that change a time), `schema` (columns,
checksums), `recorder` (writes), `rows`, `attempt` (facts, cells and calls against their checksums), `folder` (reads
back finished cells and damages), `inventory` (which runs there are); `rank_order` (where ranks sit); `files`,
`checkpoint_files` and `typed_json` read and write safely.
"""
