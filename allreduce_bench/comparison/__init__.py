"""New runs compared with a baseline: which cells became slower, by how much, and with what confidence.

reading      folders to runs              conditions   whether runs can be compared at all
matching     the cells of two sides       ratio        the statistics of cells
decision     slower, same or undecided    compared_cell   a cell with its verdict
observed     what too few launches show
judgement    all of them, and the gate    text, junit, document   the formats
"""

from . import formats
from .judgement import Comparison, compare
from .reading import ComparedRun, read_sides

FORMATS = {"table": formats.table, "markdown": formats.markdown, "junit": formats.junit, "json": formats.json_text}

__all__ = ["FORMATS", "Comparison", "ComparedRun", "compare", "read_sides"]
