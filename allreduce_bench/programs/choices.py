"""Which candidate a file says: choices that were saved, a run, or a machine file of `fit`. Read on rank 0 only."""

import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from math import log2
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..algorithms import builtin
from ..runs.atomic_write import write_given
from ..runs.careful_reading import read_given_text
from ..runs.cell import EXECUTORS, NATIVE, parts_of
from ..runs.cuts import DEFAULT_WINDOW
from ..runs.dtypes import DTYPES
from ..runs.typed_json import Natural, Positive, read_as
from ..schedule.topology import Topology
from .agreement import Shape
from .candidates import Candidate

if TYPE_CHECKING:
    from ..runs.folder import RunFolder

KIND, VERSION = "allreduce-bench choices", 2
READ_VERSIONS = (1, 2)  # 1: without placement
UNKNOWN, PROGRAM = "unknown", "program"  # PROGRAM: `Allreduce` tried it on the arrays of its calls
LONGEST_FILE = 16 * 2**20  # bytes
Lookup = Callable[[Shape, Topology], Candidate | None]  # None: nothing is known of so many ranks


class ChoiceError(ValueError):
    """A file that says no choices, in words."""


@dataclass(frozen=True)
class Choice:
    """What was chosen for one shape on ranks that lie on nodes so."""

    ranks: Positive
    layout: str  # of the ranks on nodes: 2x4
    count: Natural
    dtype: str
    op: str
    algorithm: str
    executor: str
    segment: Positive | None = None  # elements
    window: Positive | None = None
    placement: str = UNKNOWN  # where vectors lay when it was chosen: page, numpy, bytes apart, or as PROGRAM's own

    @property
    def nbytes(self) -> int:
        """Bytes of the vector."""
        return self.count * DTYPES.get(self.dtype, 1)

    @property
    def candidate(self) -> Candidate:
        """What runs."""
        return Candidate(self.algorithm, self.executor, self.segment, self.window)


@dataclass(frozen=True)
class Choices:
    """What a file of choices holds."""

    choices: tuple[Choice, ...]


def write_choices(path: Path, choices: Iterable[Choice]) -> None:
    """Write `choices` as JSON. Raises OSError."""
    content = {"kind": KIND, "schema_version": VERSION, "choices": [asdict(choice) for choice in choices]}
    write_given(path, json.dumps(content, indent=1) + "\n")


def lookup_of(path: Path) -> Lookup:
    """What the file, or the folder of a run, says. Raises ChoiceError, RunError, MachineError or OSError."""
    if path.is_dir():
        return _nearest(_choices_of_run(path))
    try:
        content = json.loads(read_given_text(path, LONGEST_FILE))
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not JSON"
        raise ChoiceError(f"{path}: {reason}; expected saved choices, a machine file or a run folder") from None
    kind = content.get("kind") if isinstance(content, dict) else None
    if kind == KIND:
        return _nearest(_read_choices(path, content))
    if kind == "allreduce-bench machine":
        return _of_machine(path)
    raise ChoiceError(f"{path}: holds no choices; expected saved choices, a machine file or a run folder")


def _read_choices(path: Path, content: dict[str, Any]) -> list[Choice]:
    if (version := content.get("schema_version")) not in READ_VERSIONS:
        readable = " and ".join(map(str, READ_VERSIONS))
        raise ChoiceError(f"{path}: of schema {version!r:.40}; this program reads {readable}")
    found = content.get("choices")
    if version == 1 and isinstance(found, list):
        found = [{"placement": UNKNOWN, **one} if isinstance(one, dict) else one for one in found]
    try:
        choices = list(read_as(Choices, {"choices": found}, exact=True).choices)
    except ValueError as error:
        raise ChoiceError(f"{path}: damaged: {error}") from error
    for choice in choices:
        if choice.executor not in (NATIVE, *EXECUTORS):
            raise ChoiceError(f"{path}: damaged: unknown executor {choice.executor!r:.40}")
    return choices


def _choices_of_run(path: Path) -> list[Choice]:
    """The fastest of each size, of those that are in this version. Raises RunError, ChoiceError."""
    from ..evaluation.competitors import by_size  # late, all: few programs choose by a run
    from ..evaluation.summary import summarise
    from ..runs.folder import RunFolder

    folder = RunFolder(path)
    rows = [row for row in summarise(folder) if row.get("time_s") and not row.get("groups")]
    _tell_losses(folder)
    known = [row for row in rows if row["algorithm"] in builtin() or row["executor"] == NATIVE]
    best = [min(alike, key=lambda row: row["time_s"] or 0.0) for alike in by_size(known).values() if alike]
    if not best:
        raise ChoiceError(f"{path}: holds no times of algorithms of this version; choose another run")
    return [
        Choice(
            ranks=row["ranks"],
            layout=_layout(row["ranks"], row["nodes"]),
            count=row["count"],
            dtype=row["dtype"] or "",
            op=row["op"] or "",
            algorithm=row["algorithm"],
            executor=row["executor"],
            segment=row["segment"],
            window=row["window"],
            placement=str(row.get("placement") or UNKNOWN),
        )
        for row in best
    ]


def _tell_losses(folder: "RunFolder") -> None:
    """Say on stderr that something of the run is damaged, or was not measured: other cells may be the fastest."""
    plan, damages = folder.plan(), len(folder.damages())
    missing = sum(folder.missing(plan, launch) for launch in plan.planned_launches())
    found = [f"{missing} cells are not measured"] * bool(missing) + [f"{damages} damages"] * bool(damages)
    if found:
        words = f"Allreduce: choice={folder.path}: {', '.join(found)}; it chooses among the other cells"
        print(f"{words}; more: allreduce-bench show {folder.path}", file=sys.stderr, flush=True)


def _layout(ranks: int, nodes: int | None) -> str:
    """As `Topology.describe`, where nodes are filled evenly; a run does not say more."""
    return f"{nodes}x{ranks // nodes}" if nodes and ranks % nodes == 0 else ""


def _nearest(choices: list[Choice]) -> Lookup:
    """Of the choices for these ranks on nodes like these the one of the nearest size, of the same type if there is."""

    def lookup(shape: Shape, topology: Topology) -> Candidate | None:
        size = len(topology.node_of)
        alike = [choice for choice in choices if choice.ranks == size and choice.layout in ("", topology.describe())]
        return min(alike, key=lambda choice: _distance(choice, shape)).candidate if alike else None

    return lookup


def _distance(choice: Choice, shape: Shape) -> tuple[float, bool, bool]:
    octaves = abs(log2(max(1, choice.nbytes)) - log2(max(1, shape.nbytes)))
    return octaves, choice.dtype != shape.dtype, choice.op != shape.op


def _of_machine(path: Path) -> Lookup:
    """The fastest by the models, among which those of the same type come first. Raises MachineError."""
    from ..models.machine import read_machine  # late, both: scipy and pandas
    from ..models.prediction import Layout, competing_models

    machine = read_machine(path)

    def lookup(shape: Shape, topology: Topology) -> Candidate | None:
        per_node = max(map(len, topology.nodes))
        groups = competing_models(machine, (), Layout(per_node, None, DTYPES[shape.dtype]))
        first = [next(iter(group.models.values())) for group in groups]
        order = sorted(range(len(groups)), key=lambda i: (first[i].dtype != shape.dtype, first[i].op != shape.op, i))
        group = groups[order[0]]
        predicted = group.fastest(len(topology.node_of), shape.nbytes)
        if predicted is None:
            return None
        model = group.models[predicted.series]
        algorithm, executor = parts_of(model.competitor)
        if algorithm not in builtin():
            return Candidate(NATIVE, NATIVE)
        segment = predicted.segment_nbytes or (model.segment and model.segment * model.itemsize)
        window = (model.window or DEFAULT_WINDOW) if executor.endswith("pipelined") else None
        return Candidate(algorithm, executor or EXECUTORS[0], segment and segment // DTYPES[shape.dtype], window)

    return lookup
