"""Register of what virtual hosts add to the core."""

from ..wings import Command, Wing

WING = Wing(
    commands={
        "lab": Command(
            "Measure",
            "run",
            "command:lab",
            "Run commands over virtual hosts in this machine, with links of a known rate",
        )
    },
    offers={
        "messages": "messages:MESSAGES",
        "demo": "command:measure_lab",
        "hosts": "lab:with_lab",
        "place_of_run": "lab:run_in_lab_of",
        "set_rates": "command:lab_sentences",
    },
)
