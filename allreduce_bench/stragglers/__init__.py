"""The rules for what is late: launches in two states, and ranks and nodes that are slow. Pure numbers: numpy only.

In: seconds as arrays. Out: plain values; sentences are made elsewhere. What ranks import for their own programs uses
these rules, so nothing here loads more than numpy. Launches: `two_states`. Ranks and nodes, in this order: `arrivals`
(what is known of each step), `stragglers` (the report of a finished run), `localise`, `slow_units`, `dependence` (what
steps are worth that depend on each other), `outliers` (among unlike units), `two_groups`, `late_at_times`,
`change_points`, `what_if`, `single_stall`, `block_noise` and `step_alarm` (while steps go on), `synthetic` (arrivals of
known truth), `progress` (counts of calls, without times). Nodes and links in tables of pairs: `polish`.
"""
