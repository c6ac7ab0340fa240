"""Choices read from a file: saved choices, or a run; read on rank 0 only.

Files are untrusted: they name algorithms of this package, or of a file that the program itself names.
"""

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from math import log2
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mpi4py import MPI

from ..algorithms import is_builtin
from ..executing import OPERATIONS
from ..runs.competitor import NATIVE, PIPELINED, WAYS, Competitor
from ..runs.dtypes import DTYPES
from ..runs.files import kind_of_file, read_given_text, write_atomically
from ..runs.typed_json import JsonError, at_least, one_of, read_as
from ..schedule.algorithm import Topology
from .agreement import Shape
from .candidates import Candidate

if TYPE_CHECKING:
    from ..evaluation.summary_row import SummaryRow
    from ..runs.plan import ImportedPlan, Plan


KIND, VERSION = "allreduce-bench choices", 4
LONGEST_FILE = 16 * 2**20  # bytes
MOST_RANKS, MOST_ELEMENTS = 2**31, 2**48  # above any realistic value
MOST_AHEAD = 2**20  # messages posted
EXPECTED = "expected saved choices or a run folder"


class ChoiceError(ValueError):
    """A file that holds no valid choices; the message says why."""


Lookup = Callable[[Shape, Topology], Candidate | None]  # None: no choice for so many ranks


@dataclass(frozen=True)
class Choice:
    """The choice for one shape on ranks with one layout on nodes."""

    ranks: Annotated[int, at_least(1, MOST_RANKS)]
    layout: str  # of the ranks on nodes: 2x4
    count: Annotated[int, at_least(0, MOST_ELEMENTS)]
    dtype: Annotated[str, one_of(*DTYPES)]
    op: Annotated[str, one_of(*OPERATIONS)]
    algorithm: str
    executor: Annotated[str, one_of(NATIVE, *WAYS)]
    segment: Annotated[int, at_least(1, MOST_ELEMENTS)] | None = None  # elements
    window: Annotated[int, at_least(1, MOST_AHEAD)] | None = None  # messages posted ahead

    def __post_init__(self) -> None:
        """Raise JsonError if values of fields contradict each other."""
        if (self.algorithm == NATIVE) != (self.executor == NATIVE):
            raise JsonError(f"algorithm {self.algorithm!r:.40} with the executor {self.executor}")
        if (self.window is not None) != (self.executor in PIPELINED):
            given = "no window" if self.window is None else "a window"
            raise JsonError(f"{given} with the executor {self.executor}; it belongs to {' and '.join(PIPELINED)}")

    @property
    def size_bytes(self) -> int:
        """Bytes of the vector."""
        return self.count * DTYPES.get(self.dtype, 1)  # an imported run may have another type

    @property
    def candidate(self) -> Candidate:
        """The candidate to run."""
        return Candidate(self.algorithm, self.executor, self.segment, self.window)


@dataclass(frozen=True)
class Choices:
    """The content of a file of choices."""

    choices: tuple[Choice, ...]


def write_choices(path: Path, choices: Iterable[Choice]) -> None:
    """Write `choices` as JSON. Raises OSError."""
    content = {"kind": KIND, "schema_version": VERSION, "choices": [asdict(choice) for choice in choices]}
    write_atomically(path, json.dumps(content, indent=1) + "\n")


def find_lookup(path: Path, own: Collection[str] = ()) -> Lookup:
    """Return the lookup of a file or run folder; `own`: the algorithms of files that the program itself names.

    Raises ChoiceError, RunError or OSError.
    """
    if path.is_dir():
        return _nearest(_choices_of_run(path))
    try:
        if odd := kind_of_file(path.stat().st_mode):
            raise ChoiceError(f"{path}: {odd}; {EXPECTED}")
        content = json.loads(read_given_text(path, LONGEST_FILE))
    except ChoiceError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not JSON"
        raise ChoiceError(f"{path}: {reason}; {EXPECTED}") from None
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise ChoiceError(f"{path}: holds no choices; {EXPECTED}")
    return _nearest(_read_choices(path, content, own))


def _read_choices(path: Path, content: dict[str, Any], own: Collection[str]) -> Sequence[Choice]:
    if (version := content.get("schema_version")) != VERSION or type(version) is not int:
        raise ChoiceError(f"{path}: of schema {version!r:.40}; this program reads {VERSION}: save them again")
    try:
        choices = read_as(Choices, {"choices": content.get("choices")}, exact=True).choices
    except ValueError as error:
        raise ChoiceError(f"{path}: damaged: {error}") from error
    for name in sorted({choice.algorithm for choice in choices}.difference(own, (NATIVE,))):
        if not is_builtin(name):
            raise ChoiceError(
                f"{path}: its algorithm {name!r:.60} is none of this version; if it is your own, name its file in the "
                "program, as in algorithm=['auto', 'my.py']"
            )
    return choices


def _choices_of_run(path: Path) -> list[Choice]:
    """Return the fastest of each size that this version has. Raises RunError, ChoiceError."""
    from ..evaluation.doubts import by_size  # late, all: few programs choose by a run
    from ..evaluation.summary import summarise
    from ..runs.folder import RunFolder

    folder = RunFolder(path)
    plan = folder.plan()
    rows = [] if plan.groups or plan.arrival else [row for row in summarise(folder) if row.get("time_s")]
    known = [row for row in rows if is_builtin(Competitor(row["competitor"]).algorithm) or row["competitor"] == NATIVE]
    best = [min(alike, key=lambda row: row["time_s"] or 0.0) for alike in by_size(known).values() if alike]
    if not best:
        raise ChoiceError(f"{path}: holds no times of algorithms of this version; choose another run")
    try:
        return [_choice_of_row(row, plan) for row in best]
    except JsonError as error:
        raise ChoiceError(f"{path}: damaged: {error}") from error


def _choice_of_row(row: "SummaryRow", plan: "Plan | ImportedPlan") -> Choice:
    """Return what was measured as a choice. Raises JsonError."""
    one = Competitor(row["competitor"])
    return Choice(
        ranks=row["ranks"],
        layout=_layout(row["ranks"], row["nodes"]),
        count=row["size_bytes"] // plan.itemsize,
        dtype=row["dtype"] or "",
        op=row["op"] or "",
        algorithm=one.algorithm,
        executor=NATIVE if one.is_native else one.way,
        segment=row["segment"],
        window=plan.window if one.is_pipelined else None,
    )


def _layout(ranks: int, nodes: int | None) -> str:
    """Describe nodes filled evenly as `Topology.describe` does; a run records no more."""
    return f"{nodes}x{ranks // nodes}" if nodes and ranks % nodes == 0 else ""


def _nearest(choices: Sequence[Choice]) -> Lookup:
    """Return a lookup by nearest size, for the same ranks and layout, of the same type if possible."""

    def lookup(shape: Shape, topology: Topology) -> Candidate | None:
        size = len(topology.node_of)
        alike = [choice for choice in choices if choice.ranks == size and choice.layout in ("", topology.describe())]
        nearest = min(alike, key=lambda choice: _distance(choice, shape), default=None)
        return None if nearest is None else nearest.candidate

    return lookup


def _distance(choice: Choice, shape: Shape) -> tuple[float, bool, bool]:
    octaves = abs(log2(max(1, choice.size_bytes)) - log2(max(1, shape.size_bytes)))
    return octaves, choice.dtype != shape.dtype, choice.op != shape.op


# A file of choices for all ranks: rank 0 reads and queries it, and broadcasts the result or the error


class ChoiceFile:
    """The file that a program names as `choice`. All ranks construct and query it together;
    all raise the same errors.
    """

    def __init__(self, comm: MPI.Comm, path: Path, own: Collection[str]):
        """Read the file; `own`: the algorithms of files that the program names. Raises ValueError."""
        self.path, self._lookup = path, list[Lookup]()
        _on_rank_0(comm, path, lambda: self._lookup.append(find_lookup(path, own)))

    def find(self, comm: MPI.Comm, shape: Shape, topology: Topology) -> Candidate | None:
        """Return its choice for a shape; None if it has none for so many ranks. Raises ValueError."""
        return _on_rank_0(comm, self.path, lambda: self._lookup[0](shape, topology))


def _on_rank_0(comm: MPI.Comm, path: Path, work: Callable[[], Any]) -> Any:
    """Run `work` on rank 0 and broadcast its result. Raises ValueError on all ranks if it raises there."""
    found, refusal = None, ""
    if comm.rank == 0:
        try:
            found = work()
        except (ValueError, OSError) as error:
            refusal = str(error)
        except Exception as error:
            refusal = f"{path}: cannot be used as choices: {type(error).__name__}: {error}"
    found, refusal = comm.bcast((found, refusal))
    if refusal:
        raise ValueError(f"Allreduce: {' '.join(refusal.split())}")
    return found
