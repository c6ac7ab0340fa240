"""Register of what pages about schedules add to the core."""

from ..wings import Command, Wing

WING = Wing(
    commands={
        "explain": Command(
            "Algorithms",
            "list",
            "command:explain",
            "Show an algorithm round by round",
        )
    },
    offers={"messages": "messages:MESSAGES", "map": "command:read_map"},
)
