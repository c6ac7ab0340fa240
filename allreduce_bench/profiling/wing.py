"""The wing of profiles of users' programs."""

from ..wings import Wing

WING = Wing(
    offers={
        "messages": "messages:MESSAGES",
        "schemas": "profile:FORMATS",
        "profiled_program": "profiled_program:profiled_program",
        "options_like": "like:options_like",
    },
)
