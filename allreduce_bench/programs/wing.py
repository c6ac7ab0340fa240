"""All-reduces inside of other programs: they add nothing to the core, and are imported by those programs."""

from ..wings import Wing

WING = Wing(offers={"messages": "messages:MESSAGES"})
