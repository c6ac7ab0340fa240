"""The wing that says which algorithm of the library ran."""

from ..wings import Command, Wing

WING = Wing(
    commands={
        "which": Command(
            "Measure",
            "run",
            "which:which",
            "Say which algorithm the library's own all-reduce runs",
        )
    },
    offers={"messages": "messages:MESSAGES", "schemas": "nccl_output:SCHEMAS"},
)
