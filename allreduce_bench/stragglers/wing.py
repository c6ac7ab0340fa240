"""The wing of stragglers: its command, and what it offers to the core."""

from ..wings import Command, Wing

WING = Wing(
    commands={
        "stragglers": Command(
            "Read", "compare", "command:stragglers", "Name the rank or node that the others wait for, and what it costs"
        )
    },
    offers={
        "messages": "messages:MESSAGES",
        "end_of_run": "sentences:sentences_of_run",
        "log_of_job": "sources:description_of",
        "schemas": "document:SCHEMAS",
        "section": "section:straggler_section",
    },
)
