"""Choices read from a file: saved choices, a run, or a machine file of `fit`; read on rank 0 only.

Files are untrusted: they name algorithms, and none of their code runs. An algorithm of a user's own file is taken only
if the program itself names that file, and its content is unchanged since the choices were saved.
"""

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from math import log2
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from mpi4py import MPI

from ..algorithms import FILES, is_builtin
from ..executing import OPERATIONS
from ..runs.cell import is_placement
from ..runs.competitor import NATIVE, PIPELINED, WAYS, Competitor
from ..runs.dtypes import DTYPES
from ..runs.files import kind_of_file, read_given, read_given_text, write_given
from ..runs.plan import DEFAULT_WINDOW
from ..runs.typed_json import JsonError, Rule, at_least, one_of, read_as
from ..schedule.algorithm import Algorithm, Topology
from ..units import counted, shell_word
from .agreement import Shape
from .candidates import Candidate

if TYPE_CHECKING:
    from ..evaluation.summary_row import SummaryRow
    from ..runs.folder import RunFolder
    from ..runs.plan import ImportedPlan, Plan


KIND, VERSION = "allreduce-bench choices", 3
UNKNOWN, PROGRAM = "unknown", "program"  # PROGRAM: `Allreduce` tried it on the arrays of its calls
LONGEST_FILE = 16 * 2**20  # bytes
MOST_RANKS, MOST_ELEMENTS = 2**31, 2**48  # above any realistic value
MOST_AHEAD = 2**20  # messages posted
EXPECTED = "expected saved choices, a machine file or a run folder"
Elements = Annotated[int, at_least(1, MOST_ELEMENTS)]
Placement = Annotated[str, Rule(lambda text: text in (UNKNOWN, PROGRAM) or is_placement(text), "where vectors lie")]


class ChoiceError(ValueError):
    """A file that holds no valid choices; the message says why."""


class OwnFile(NamedTuple):
    """A file with algorithms of the user's own that a program names."""

    file: str  # its absolute path
    sha256: str  # of its content, hexadecimal


NO_FILE = OwnFile("", "")  # that of an algorithm of this package
OwnFiles = Mapping[str, OwnFile]  # by the names of the algorithms


class Chosen(NamedTuple):
    """The choice of a file for a shape."""

    candidate: Candidate
    placement: str = UNKNOWN  # of the vectors that were measured


Lookup = Callable[[Shape, Topology], Chosen | None]  # None: no choice for so many ranks


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
    segment: Elements | None = None
    window: Annotated[int, at_least(1, MOST_AHEAD)] | None = None  # messages posted ahead
    placement: Placement = UNKNOWN  # where vectors lay when it was chosen: page, numpy, bytes apart; or PROGRAM
    file: str = ""  # that of an algorithm of the user's own
    sha256: str = ""  # of that file

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
    write_given(path, json.dumps(content, indent=1) + "\n")


def own_files(algorithms: Iterable[Algorithm]) -> dict[str, OwnFile]:
    """Return name of algorithm -> the user's file that defines it. Raises ChoiceError if one cannot be read."""
    found: dict[str, OwnFile] = {}
    for one in algorithms:
        if one.file:
            try:
                found[one.name] = OwnFile(
                    str(Path(one.file).absolute()), sha256(read_given(Path(one.file))).hexdigest()
                )
            except OSError as error:
                raise ChoiceError(f"{one.file}: {error.strerror}; the program names it for its algorithms") from None
    return found


def lookup_of(path: Path, own: OwnFiles | None = None) -> Lookup:
    """Return the lookup of a file or run folder; `own`: the files of algorithms that the program itself names.

    Raises ChoiceError, RunError, MachineError or OSError.
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
    kind = content.get("kind") if isinstance(content, dict) else None
    if kind == KIND:
        return _nearest(_read_choices(path, content, own or {}))
    if kind == "allreduce-bench machine":
        return _of_machine(path)
    raise ChoiceError(f"{path}: holds no choices; {EXPECTED}")


def _read_choices(path: Path, content: dict[str, Any], own: OwnFiles) -> Sequence[Choice]:
    if (version := content.get("schema_version")) != VERSION or type(version) is not int:
        raise ChoiceError(f"{path}: of schema {version!r:.40}; this program reads {VERSION}: save them again")
    try:
        choices = read_as(Choices, {"choices": content.get("choices")}, exact=True).choices
    except ValueError as error:
        raise ChoiceError(f"{path}: damaged: {error}") from error
    for choice in choices:
        _refuse_code(path, choice, own)
    return choices


def _refuse_code(path: Path, choice: Choice, own: OwnFiles) -> None:
    """Raise ChoiceError unless the algorithm is of this package, or of a file that the program names, unchanged."""
    name, file = choice.algorithm, own.get(choice.algorithm)
    if file is None and (name == NATIVE or is_builtin(name)):
        return
    source = choice.file or ("" if not name.endswith(FILES) else name)
    if file is None and source:
        raise ChoiceError(
            f"{path}: its algorithm {name!r:.60} is of the file {source!r:.200}, which choices never run; name it in "
            "the program if you trust it, as in algorithm=['auto', 'my.py']"
        )
    if file is None:
        raise ChoiceError(
            f"{path}: its algorithm {name!r:.60} is none of this version; if it is your own, name its file in the "
            "program, as in algorithm=['auto', 'my.py']"
        )
    if choice.sha256 and choice.sha256 != file.sha256:
        raise ChoiceError(
            f"{path}: {file.file} is not as it was when its algorithm {name!r:.60} was chosen; save the choices anew, "
            "or restore the file"
        )


def _choices_of_run(path: Path) -> list[Choice]:
    """Return the fastest of each size that this version has. Raises RunError, ChoiceError."""
    from ..evaluation.doubts import by_size  # late, all: few programs choose by a run
    from ..evaluation.summary import summarise
    from ..runs.folder import RunFolder

    folder = RunFolder(path)
    plan = folder.plan()
    rows = [] if plan.groups or plan.arrival else [row for row in summarise(folder) if row.get("time_s")]
    _tell_losses(folder)
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
        placement=plan.placement or UNKNOWN,
    )


def _tell_losses(folder: "RunFolder") -> None:
    """Warn on stderr if cells of the run are damaged or missing: others might be the fastest."""
    plan, damages = folder.plan(), len(folder.damages())
    missing = sum(folder.cells_left(plan, launch) for launch in plan.planned_launches())
    found = [f"{counted(missing, 'cell')} not measured"] * bool(missing) + [counted(damages, "damage")] * bool(damages)
    if found:
        words = f"Allreduce: choice={folder.path}: {', '.join(found)}; it chooses among the other cells"
        print(
            f"{words}; more: allreduce-bench show {shell_word(folder.path)}",
            file=sys.stderr,
            flush=True,
        )


def _layout(ranks: int, nodes: int | None) -> str:
    """Describe nodes filled evenly as `Topology.describe` does; a run records no more."""
    return f"{nodes}x{ranks // nodes}" if nodes and ranks % nodes == 0 else ""


def _nearest(choices: Sequence[Choice]) -> Lookup:
    """Return a lookup by nearest size, for the same ranks and layout, of the same type if possible."""

    def lookup(shape: Shape, topology: Topology) -> Chosen | None:
        size = len(topology.node_of)
        alike = [choice for choice in choices if choice.ranks == size and choice.layout in ("", topology.describe())]
        nearest = min(alike, key=lambda choice: _distance(choice, shape), default=None)
        return None if nearest is None else Chosen(nearest.candidate, nearest.placement)

    return lookup


def _distance(choice: Choice, shape: Shape) -> tuple[float, bool, bool]:
    octaves = abs(log2(max(1, choice.size_bytes)) - log2(max(1, shape.size_bytes)))
    return octaves, choice.dtype != shape.dtype, choice.op != shape.op


def _of_machine(path: Path) -> Lookup:
    """Return a lookup of the fastest by the models, preferring those of the same type. Raises MachineError."""
    from ..models.machine import read_machine  # late, both: scipy and pandas
    from ..models.prediction import Layout, competing_models

    machine = read_machine(path)

    def lookup(shape: Shape, topology: Topology) -> Chosen | None:
        per_node = max(map(len, topology.nodes))
        groups = competing_models(machine, (), Layout(per_node, None, DTYPES[shape.dtype]))
        first = [next(iter(group.models.values())) for group in groups]
        order = sorted(range(len(groups)), key=lambda i: (first[i].dtype != shape.dtype, first[i].op != shape.op, i))
        group = groups[order[0]]
        fastest = group.fastest(len(topology.node_of), shape.size_bytes)
        if fastest is None:
            return None
        predicted, model = fastest.predicted, group.models[fastest.predicted.series]
        algorithm, executor = model.algorithm, Competitor(model.competitor).way
        if not is_builtin(algorithm):
            return Chosen(Candidate(NATIVE, NATIVE), model.placement)
        segment = predicted.segment_nbytes or (model.segment and model.segment * model.itemsize)
        window = DEFAULT_WINDOW if executor in PIPELINED else None
        elements = segment and max(1, segment // DTYPES[shape.dtype])
        return Chosen(Candidate(algorithm, executor, elements, window), model.placement)

    return lookup


# A file of choices for all ranks: rank 0 reads and queries it, and broadcasts the result or the error


class ChoiceFile:
    """The file that a program names as `choice`. All ranks construct and query it together;
    all raise the same errors.
    """

    def __init__(self, comm: MPI.Comm, path: Path, own: Mapping[str, OwnFile]):
        """Read the file; `own`: the files of algorithms that the program names. Raises ValueError."""
        self.path, self._lookup = path, list[Lookup]()
        _on_rank_0(comm, path, lambda: self._lookup.append(lookup_of(path, own)))

    def chosen(self, comm: MPI.Comm, shape: Shape, topology: Topology) -> Chosen | None:
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
