"""The sentences of this wing: a template for each code; see `message`."""

MESSAGES = {
    "which.library_counts_nothing": "{library} does not count messages: only Open MPI does",
    "which.mpi_t_failed": "{function} of {library} failed: {why}",
    "which.no_mpi_t": "{library} has no {function}, so its settings can neither be read nor changed from inside",
    "which.no_variable": "no variable {name} in {library}{near}",
    "which.not_monitored": "messages were not counted ({why}); start {library} with {settings}",
    "which.not_set": "{name} of {library} cannot be set to {value} now: {why}",
    "which.on_ranks": "{on}{words}",
    "which.read_another": "{name} was set to {value}, but reads {found}",
    "which.setting_value": "{name}: expected {expected}, found {value!r}",
}
