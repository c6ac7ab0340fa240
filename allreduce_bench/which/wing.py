"""The wing that says which algorithm the library ran."""

from ..wings import Wing

WING = Wing(offers={"messages": "messages:MESSAGES"})
