"""The wing of comparisons of runs."""

from ..wings import Command, Wing

WING = Wing(
    commands={
        "compare": Command(
            "Read", "report", "command:compare", "Find the cells of new runs that are slower or faster than before"
        ),
    },
    offers={"messages": "messages:MESSAGES", "schemas": "formats:SCHEMAS"},
)
