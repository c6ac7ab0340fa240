"""`explain("ring", 4)` in a notebook: a moving picture of all rounds, with the rounds as text below it."""

import base64
from dataclasses import dataclass
from html import escape

from ..schedule.draw import rounds
from .drawing import Drawing, Subject, drawing_of, subject
from .layout import layout_of
from .pictures import Scene, svg, title


@dataclass(frozen=True, repr=False)
class Explained:
    """Proved algorithm on some ranks. A notebook displays it as a picture; `print` gives the text."""

    subject: Subject
    drawing: Drawing

    def image(self) -> str:
        """Return an SVG of all rounds, which move one after the other. Raises AlgorithmError if they are too many."""
        return svg(Scene(self.drawing, layout_of(self.drawing)))

    def __repr__(self) -> str:
        algorithm = self.subject.algorithm
        cost = f"{algorithm.formula} ({'exact' if algorithm.exact else 'bound'})"
        return rounds(algorithm.name, self.subject.schedules, self.subject.count, cost)

    def _repr_html_(self) -> str:
        data = base64.b64encode(self.image().encode()).decode("ascii")
        words = escape(f"{title(self.drawing)}. The text below has all rounds.")
        return (
            f'<figure style="margin:0"><img alt="{words}" src="data:image/svg+xml;base64,{data}">'
            "<details><summary>All rounds as text; the schedule is verified</summary>"
            f"<pre>{escape(repr(self))}</pre></details></figure>"
        )


def explain(
    algorithm: str,
    ranks: int,
    count: int | None = None,
    segment: int | None = None,
    ranks_per_node: int | None = None,
) -> Explained:
    """Prove `algorithm` (a name, or the path of your own .py file) on `ranks` ranks, at most 32, and show its rounds.

    `count` and `segment` are elements; by default all blocks are equal and a segment is the whole vector. Raises
    AlgorithmError if it cannot run or is too large, Refusal if it is no all-reduce.
    """
    chosen = subject(algorithm, ranks, count, segment, ranks_per_node)
    return Explained(chosen, drawing_of(chosen))
