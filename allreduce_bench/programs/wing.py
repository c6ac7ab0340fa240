"""The wing of all-reduces inside other programs: it adds nothing to the core, and is imported by those programs."""

from ..wings import Wing

WING = Wing(offers={"messages": "messages:MESSAGES"})
