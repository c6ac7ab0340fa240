"""The wing that measures what the loss of a rank costs."""

from ..wings import Command, Wing

WING = Wing(
    commands={
        "survive": Command("Measure", "which", "command:survive", "Measure what the loss of a rank costs"),
    },
    offers={"messages": "messages:MESSAGES", "schemas": "output:SCHEMAS", "losses": "section:losses_section"},
)
