"""The figures of the report: every `ReportFigure` in a module of this folder, found by scanning.

To add one, copy `scaling.py`. Drawing functions take frames and return a Figure without a window, or None if there is
nothing to draw. `report.figure` holds what all figures share.
"""

from functools import cache
from importlib import import_module
from pathlib import Path

from ..figure import ReportFigure, styles
from .fitted import fitted
from .scaling import over_ranks, some_sizes
from .sizes import REFERENCES
from .winners import winner_map, winners

__all__ = [
    "REFERENCES",
    "fitted",
    "over_ranks",
    "report_figures",
    "some_sizes",
    "styles",
    "winner_map",
    "winners",
]


@cache
def report_figures(section: str) -> tuple[ReportFigure, ...]:
    """Return the figures of one section of the page, in order."""
    files = sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py"))
    modules = [import_module(f"{__name__}.{name}") for name in files]
    figures = [thing for module in modules for thing in vars(module).values() if isinstance(thing, ReportFigure)]
    return tuple(sorted((figure for figure in figures if figure.section == section), key=lambda figure: figure.turn))
