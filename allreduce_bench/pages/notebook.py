"""`explain("ring", 4)` in a notebook: a moving picture, with all rounds as text below it."""

import base64
from dataclasses import dataclass
from html import escape
from pathlib import Path

from ..schedule.draw import rounds
from .drawing import STYLES, Drawing, Subject, drawing_of, rank_names, subject, title

KINDS = {True: "gif", False: "png"}  # moving -> kind of image


@dataclass(frozen=True, repr=False)
class Explained:
    """Proved algorithm on some ranks. A notebook displays it as a picture; `print` gives the text."""

    subject: Subject
    drawing: Drawing
    names: tuple[str, ...]  # of the ranks
    moving: bool

    def image(self) -> bytes:
        """Return a GIF of the moving rounds, or a PNG of all rounds if `moving` is false."""
        from . import pictures  # late: a drawing that is only told about needs none

        return pictures.gif(self.drawing, self.names) if self.moving else pictures.png(self.drawing, self.names)

    def save(self, path: str | Path) -> None:
        """Write the image to `path`. Raises ValueError if its suffix is of another kind of image; OSError."""
        ending = f".{KINDS[self.moving]}"
        if Path(path).suffix != ending:
            raise ValueError(f"{path}: expected a name that ends in {ending}")
        Path(path).write_bytes(self.image())

    def __repr__(self) -> str:
        algorithm = self.subject.algorithm
        cost = f"{algorithm.formula} ({'exact' if algorithm.exact else 'bound'})"
        return rounds(algorithm.name, self.subject.schedules, self.subject.count, cost)

    def _repr_html_(self) -> str:
        data = base64.b64encode(self.image()).decode("ascii")
        words = escape(f"{title(self.drawing)}. The text below has all rounds.")
        return (
            f'<figure style="margin:0"><img alt="{words}" src="data:image/{KINDS[self.moving]};base64,{data}">'
            "<details><summary>All rounds as text; the schedule is verified</summary>"
            f"<pre>{escape(repr(self))}</pre></details></figure>"
        )


def explain(
    algorithm: str,
    ranks: int,
    count: int | None = None,
    segment: int | None = None,
    ranks_per_node: int | None = None,
    names: str = STYLES[0],
    moving: bool = True,
) -> Explained:
    """Prove `algorithm` (a name, or the path of your own .py file) on `ranks` ranks, at most 32, and show its rounds.

    `count` and `segment` are elements; by default all blocks are equal and a segment is the whole vector. `names` is
    one of drawing.STYLES. Raises AlgorithmError if it cannot run or is too large, Refusal if it is no all-reduce,
    KeyError for other names.
    """
    chosen = subject(algorithm, ranks, count, segment, ranks_per_node)
    return Explained(chosen, drawing_of(chosen), rank_names(ranks, names), moving)
