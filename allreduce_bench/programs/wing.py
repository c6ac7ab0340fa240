"""The wing of all-reduces inside other programs, imported by those; to `exec` it tells what their checkpoints cost."""

from ..wings import Wing

WING = Wing(offers={"messages": "messages:MESSAGES", "checkpoint_costs": "checkpoint_costs:CostsSince"})
