"""What a page says of who arrives late: sentences, the ranks as a table, skew and lateness as a figure."""

from typing import Any

from ..report.pictures import Picture
from ..runs.cell import NATIVE
from ..runs.folder import RunFolder
from .figure import draw_arrivals
from .joined_arrivals import of_run
from .sentences import Judged, judged, verdict_sentences
from .table import left_words, rank_rows, table_head

MOST_PARTS = 8  # of a run, such as numbers of ranks and patterns, that are shown
STEM = "arrivals"  # of the files of a figure


def straggler_section(folder: RunFolder) -> dict[str, Any]:
    """The page's values: `stragglers`, a part for each number of ranks and each pattern, and their pictures in order.

    `stragglers_first`: one algorithm was measured, so that who is late is the first question.
    Empty for a run that was measured without --compute and --arrival. Raises RunError.
    """
    parts = [judged(*part) for part in of_run(folder)[:MOST_PARTS]]
    pictures = [picture for number, part in enumerate(parts, start=1) if (picture := _picture(part, number))]
    return {
        "stragglers_first": sum(name != NATIVE for name in folder.plan().algorithms) <= 1,
        "stragglers": [_part(part, number) for number, part in enumerate(parts, start=1)],
        "straggler_pictures": pictures,
    }


def _part(part: Judged, number: int) -> dict[str, Any]:
    rows, left = rank_rows(part)
    lead, *rest = verdict_sentences(part)
    return {
        "what": part.what,
        "lead": lead,
        "sentences": rest,
        "head": table_head(part),
        "rows": rows,
        "left": left and left_words(part, left),
        "stem": _stem(number),
    }


def _picture(part: Judged, number: int) -> Picture | None:
    drawing = draw_arrivals(part.arrivals, part.report)
    return drawing and Picture(_stem(number), drawing.caption, drawing.figure, drawing.numbers)


def _stem(number: int) -> str:
    return STEM if number == 1 else f"{STEM}_{number}"
