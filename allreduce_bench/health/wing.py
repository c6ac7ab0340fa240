"""The wing of the check of nodes and links."""

from ..wings import Command, Wing

WING = Wing(
    commands={
        "health": Command(
            "On a cluster with Slurm",
            "collect",
            "command:health",
            "Find the node or the link that is slower than its peers",
        )
    },
    offers={
        "messages": "messages:MESSAGES",
        "schemas": "output:SCHEMAS",
        "pair_times": "pair_tables:read_pair_times",
    },
)
