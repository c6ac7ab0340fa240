"""Logs of other tools, read as rows, as points of a fit, or kept as a run folder."""

from .imported import Asked, Imported, LogError, LogWarning
from .keeping import keep
from .points import points
from .reading import read, recognise

__all__ = ["Asked", "Imported", "LogError", "LogWarning", "keep", "points", "read", "recognise"]
