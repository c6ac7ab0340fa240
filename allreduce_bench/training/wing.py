"""The wing of training steps: its command, and what it offers to the core."""

from ..wings import Command, Wing

WING = Wing(
    commands={
        "workload": Command(
            "Model",
            "predict",
            "command:workload",
            "Model the all-reduces of a training step: buckets, overlap, scaling",
        )
    },
    offers={"messages": "messages:MESSAGES", "schemas": "result:SCHEMAS"},
)
