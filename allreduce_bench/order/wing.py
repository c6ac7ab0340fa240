"""The wing of the order of ranks."""

from ..wings import Command, Wing

WING = Wing(
    commands={
        "order": Command(
            "On a cluster with Slurm",
            "health",
            "command:order",
            "Find an order of ranks that suits the links between their hosts",
        )
    },
    offers={"messages": "messages:MESSAGES"},
)
