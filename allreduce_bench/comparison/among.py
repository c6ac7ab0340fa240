"""Where the bus bandwidth of a run stands among those of like systems, from their logs and runs.

Like means: equal numbers of ranks and of nodes (where both are known), an equal size, and times of one definition. A
system is a log, also one in an archive, a run, or the rows of a log that name one system. Of several algorithms its
fastest counts, of several launches their median.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

from ..cli.import_ import is_log
from ..evaluation.cell_times import OTHER_DEFINITION, STATES, competing
from ..evaluation.summary import summarise
from ..evaluation.summary_row import competitor_of, number_of
from ..importers import Imported, LogCopied, LogError, logs_of, read, refuse_copy, why_runs_are_left_out
from ..importers.contents import is_run
from ..importers.lines import digest_of
from ..message import say
from ..runs.cell import FORCED_DEFAULT, competitor_name
from ..runs.folder import RunFolder
from ..runs.rows import RunError
from ..runs.schema import NOT_RELIABLE
from ..stats import median
from ..units import busbw, few, format_size

WARM = "warm"  # cache
OF_TOOLS = {"nccl_tests": "nccl_tests_s", "osu_avg": "osu_avg_s", "imb_t_max": "imb_t_max_s"}  # definition -> column
OURS = "allreduce-bench"
MOST_NAMED = 12  # algorithms or sizes in a sentence
UNLIKE = ("ranks", "nodes", "size", "timing method")  # in this order: the first that differs is why


class Shape(NamedTuple):
    """What has to be equal beside the definition of times."""

    ranks: int
    nodes: int | None  # None: not known
    nbytes: int

    def is_like(self, other: "Shape") -> bool:
        """Return whether two are equal as far as they are known."""
        return (self.ranks, self.nbytes) == (other.ranks, other.nbytes) and self.is_on_as_many_nodes(other)

    def is_on_as_many_nodes(self, other: "Shape") -> bool:
        """Return whether the numbers of nodes are equal, or one is not known."""
        return self.nodes == other.nodes or None in (self.nodes, other.nodes)


class Fastest(NamedTuple):
    """The fastest algorithm of a system at one shape, by one definition of times."""

    algorithm: str
    time_s: float
    line: int | None = None  # of the log


_Times = dict[Shape, dict[str, Fastest]]
_Row = tuple[str, str, Shape, str, Fastest]  # source, tool, definition of the time


class System(NamedTuple):
    """A system: where its times come from, and its fastest ones by definition, the usual definition first."""

    source: str  # the path as it was given, and the system where a log names it
    tool: str
    times: _Times
    not_reliable: frozenset[int] = frozenset()  # numbers of ranks whose times have this grade


class Reference(NamedTuple):
    """A like system at one shape."""

    source: Annotated[str, "log or run, as it was named, and the system where a log names several"]
    tool: Annotated[str, "program that measured it, with its version where the log says it"]
    line: Annotated[int | None, "line of the log; null: of several launches, or of a run"]
    algorithm: Annotated[str, "its fastest algorithm"]
    time_s: Annotated[float, "its time; unit: s"]
    busbw_bytes_per_s: Annotated[float, "its bus bandwidth; unit: bytes/s"]


class Place(NamedTuple):
    """The place of a run at one shape among like systems, by one definition of times."""

    ranks: Annotated[int, "number of ranks"]
    nodes: Annotated[int | None, "number of nodes; null: not known"]
    nbytes: Annotated[int, "size of the vector; unit: bytes"]
    time_definition: Annotated[str, "definition of the times of the run and of all references"]
    algorithm: Annotated[str, "the fastest algorithm of the run"]
    time_s: Annotated[float, "its time by that definition; unit: s"]
    busbw_bytes_per_s: Annotated[float, "its bus bandwidth, nbytes / time_s * 2(p-1)/p; unit: bytes/s"]
    place: Annotated[int, "1: no reference has more bus bandwidth"]
    of: Annotated[int, "number of references and the run"]
    median_busbw_bytes_per_s: Annotated[float, "median of the references; unit: bytes/s"]
    of_median: Annotated[float, "bus bandwidth of the run over that median; unit: 1"]
    references: Annotated[tuple[Reference, ...], "the like systems, the highest bus bandwidth first"]


class Standing(NamedTuple):
    """A run among like systems."""

    run: System
    others: Sequence[System]
    places: Sequence[Place]
    unlike: Mapping[str, int]  # of UNLIKE -> the systems that are nowhere like the run, and why
    alone: int  # shapes of the run without a like system
    unread: Sequence[str] = ()  # why files of folders could not be read
    copies: Sequence[str] = ()  # files of folders with the same bytes as another one, and as which
    demanded: float | None = None  # least share of the median

    @property
    def not_reliable(self) -> dict[str, set[int]]:
        """Return the runs among those that are set beside each other with times of this grade, and at which ranks."""
        placed = {place.ranks for place in self.places}
        like = {reference.source for place in self.places for reference in place.references} | {self.run.source}
        systems = [system for system in (self.run, *self.others) if system.source in like]
        return {system.source: {*ranks} for system in systems if (ranks := system.not_reliable & placed)}

    @property
    def below(self) -> list[Place]:
        """Return the places below the demanded share of the median, the worst first."""
        least = self.demanded or 0.0
        return sorted((place for place in self.places if place.of_median < least), key=lambda place: place.of_median)


class Chosen(NamedTuple):
    """The algorithms and sizes of the run that are placed; empty: all."""

    algorithms: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()


EVERYTHING = Chosen()


class Missing(NamedTuple):
    """What the user states of logs that do not state it; None: nothing."""

    ranks: int | None = None
    nodes: int | None = None


class Systems(NamedTuple):
    """The run that is placed, the others, and why some files of folders are left out: unreadable, or copies."""

    run: System
    others: Sequence[System]
    unread: Sequence[str] = ()
    copies: Sequence[str] = ()


def systems_of(run: Path, references: Sequence[Path], missing: Missing, chosen: Chosen = EVERYTHING) -> Systems:
    """Read a run, or a log, and the references, of a folder of logs each file. Raises RunError, LogError.

    A file of a folder that cannot be read, or that holds the same bytes as another one, is left out.
    """
    if absent := [path for path in (run, *references) if not path.exists()]:
        raise RunError("comparison.no_such_file_folder", absent=absent[0], expected=say("comparison.among_expected"))
    own = _read(run, missing, {}, chosen)
    _refuse_stated(run, own, missing)
    if len(own) > 1:
        names = ", ".join(system.source for system in own)
        raise RunError("comparison.among_several_systems", path=run, names=names)
    seen = {digest: run} if (digest := digest_of(run)) else {}
    others: list[System] = []
    unread: list[str] = []
    copies: list[str] = []
    for number, path in enumerate(references):
        if path.resolve() in {other.resolve() for other in (run, *references[:number])}:
            raise RunError("comparison.among_named_twice", path=path)
        is_folder = path.is_dir() and not is_run(path)
        if is_folder and (runs := why_runs_are_left_out(path)):
            unread.append(str(runs))
        for log in logs_of(path) if is_folder else [path]:
            if log.resolve() == run.resolve():
                continue
            try:
                refuse_copy(log, seen)
                found = _read(log, missing, seen)
                if not is_folder:
                    _refuse_stated(log, found, missing)
                others += found
            except (LogError, RunError) as error:
                if not is_folder or log == path:
                    raise
                (copies if isinstance(error, LogCopied) else unread).append(str(error))
    return Systems(own[0], others, unread, copies)


def _read(path: Path, missing: Missing, seen: dict[str, Path], chosen: Chosen = EVERYTHING) -> list[System]:
    """Return the systems of a run or a log, or of the logs of an archive but copies. Raises RunError, LogError."""
    found: dict[tuple[str, str], _Times] = {}
    not_reliable = set[int]()
    rows = list(_rows_of_log(path, missing, seen) if is_log(path) else _rows_of_run(path, not_reliable))
    _refuse_absent(path, rows, chosen)
    for source, tool, shape, definition, fastest in rows:
        is_chosen = not chosen.algorithms or any(name in chosen.algorithms for name in _names_of(fastest.algorithm))
        if is_chosen and shape.nbytes in (chosen.sizes or (shape.nbytes,)):
            by_definition = found.setdefault((source, tool), {}).setdefault(shape, {})
            by_definition[definition] = min(fastest, by_definition.get(definition, fastest), key=lambda one: one.time_s)
    if not found:
        raise RunError("comparison.among_no_times", path=path)
    ranks = {name: frozenset(not_reliable & {shape.ranks for shape in times}) for name, times in found.items()}
    return [System(*name, times, ranks[name]) for name, times in found.items()]


def _names_of(competitor: str) -> tuple[str, str]:
    """Return the names by which a competitor can be chosen: `ring pipelined`, and its algorithm `ring`."""
    return competitor, competitor.split(" ")[0]


def _refuse_absent(path: Path, rows: Sequence[_Row], chosen: Chosen) -> None:
    """Raise RunError for an algorithm or a size that was chosen, and that the run or the log does not have."""
    if not rows:
        return  # `among_no_times` says so
    if FORCED_DEFAULT in chosen.algorithms:
        raise RunError("comparison.among_never_ranked", path=path, name=FORCED_DEFAULT)
    plan = None if is_log(path) else RunFolder(path).plan()
    there = dict.fromkeys([*(plan.algorithms if plan else ()), *(row[4].algorithm for row in rows)])
    names = {name for competitor in there for name in _names_of(competitor)}
    sizes = sorted({*(plan.sizes if plan else ()), *(row[2].nbytes for row in rows)})
    if absent := [name for name in chosen.algorithms if name not in names]:
        listed = few((name for name in there if name != FORCED_DEFAULT), MOST_NAMED)
        raise RunError("comparison.among_no_algorithm", path=path, name=absent[0], names=listed)
    if missing := [size for size in chosen.sizes if size not in sizes]:
        words = few(map(format_size, sizes), MOST_NAMED)
        raise RunError("comparison.among_no_size", path=path, size=format_size(missing[0]), sizes=words)


def _refuse_stated(path: Path, systems: Sequence[System], missing: Missing) -> None:
    """Raise RunError for a log, named itself, that nowhere has what the user states of it."""
    for name, value in missing._asdict().items() if is_log(path) else ():
        in_log = {getattr(shape, name) for system in systems for shape in system.times}
        if value is not None and value not in in_log:
            listed = ", ".join(map(str, sorted(in_log)))
            raise RunError("importers.log_states_leave_out", place=path, name=name, value=value, in_log=listed)


def _rows_of_run(path: Path, not_reliable: set[int]) -> Iterator[_Row]:
    """Yield the times of a run, by each definition that they have; add ranks of that grade. Raises RunError."""
    folder = RunFolder(path)
    imported = folder.imported() or {}
    tool = " ".join(filter(None, (imported.get("tool", OURS), imported.get("version"))))
    for row in competing(summarise(folder)):
        is_plain = row["cache"] == WARM and not row["groups"] and row["ranks"] > 1 and row["nbytes"] > 0
        if is_plain and row["time_s"] is not None and row.get("doubt") in (None, STATES, OTHER_DEFINITION):
            not_reliable.update([row["ranks"]] if row.get("grade") == NOT_RELIABLE else [])
            shape = Shape(row["ranks"], row["nodes"], row["nbytes"])
            columns = {column: number_of(row, column) for column in OF_TOOLS.values()}
            for definition, time_s in _by_definition(row["time_definition"], row["time_s"], columns):
                yield str(path), tool, shape, definition, Fastest(competitor_of(row), time_s)


def _rows_of_log(path: Path, missing: Missing, seen: dict[str, Path]) -> Iterator[_Row]:
    """Yield the times of a log, medians over its launches, by each definition that they have. Raises LogError."""
    launches: dict[tuple[str, Shape, str], list[Imported]] = defaultdict(list)
    for row in read(path, copied=seen):
        ranks, nodes = row.ranks or missing.ranks, row.nodes or missing.nodes
        if ranks is None:
            raise RunError("comparison.among_ranks_missing", path=path)
        if row.time_s and ranks > 1 and row.nbytes and row.cache == WARM:
            shape, algorithm = Shape(ranks, nodes, row.nbytes), competitor_name(row.algorithm, row.executor)
            launches[_source_of(path, row), shape, algorithm].append(row)
    for (source, shape, algorithm), rows in launches.items():
        tool = " ".join(filter(None, (rows[0].tool, rows[0].version)))
        times: dict[str, list[float]] = defaultdict(list)
        for row in rows:
            columns = {column: getattr(row, column) for column in OF_TOOLS.values()}
            for definition, time_s in _by_definition(row.time_definition, row.time_s, columns):
                times[definition].append(time_s)
        line = rows[0].line if len(rows) == 1 else None
        for definition, each_s in times.items():
            yield source, tool, shape, definition, Fastest(algorithm, median(each_s), line)


def _source_of(path: Path, row: Imported) -> str:
    """Format `a.tar.gz: b.log, leonardo`: the log, its member if it is an archive, and the system that a row names."""
    is_member = row.files == (str(path),) and Path(row.file).is_relative_to(path) and row.file != str(path)
    source = f"{path}: {Path(row.file).relative_to(path)}" if is_member else str(path)
    return f"{source}, {row.system}" if row.system else source


def _by_definition(usual: str, time_s: float | None, columns: Mapping[str, float | None]) -> list[tuple[str, float]]:
    """Return the times of a cell by definition, the usual one first."""
    found = {usual: time_s} | {name: columns[column] for name, column in OF_TOOLS.items() if name != usual}
    return [(name, value) for name, value in found.items() if value]


def standing(systems: Systems, demanded: float | None = None) -> Standing:
    """Return where the run stands among the other systems. Raises RunError: none is like it."""
    run, others, unread, copies = systems
    places = [
        _place(shape, definition, run, references)
        for shape in sorted(run.times, key=lambda shape: (shape.ranks, shape.nodes or 0, shape.nbytes))
        for definition, references in _references(shape, run, others).items()
    ]
    like = {reference.source for place in places for reference in place.references}
    unlike = Counter(_why_unlike(run, other) for other in others if other.source not in like)
    alone = len({*run.times} - {Shape(*place[:3]) for place in places})
    found = Standing(run, others, places, unlike, alone, unread, copies, demanded)
    if not places:
        left_out = left_out_words(found) or "".join([*unread, *copies][:1])
        raise RunError("comparison.among_none_like", path=run.source, left_out=left_out)
    return found


def left_out_words(found: Standing) -> str:
    """Format `3 of 7 (2: other numbers of ranks; 1: other sizes)`; empty: none was left out."""
    if not (count := sum(found.unlike.values())):
        return ""
    reasons = [
        say("comparison.among_unlike", count=found.unlike[name], what=_UNLIKE_WORDS[name])
        for name in UNLIKE
        if found.unlike.get(name)
    ]
    return say("comparison.among_left_out", count=count, of=len(found.others), reasons="; ".join(reasons))


_UNLIKE_WORDS = {
    "ranks": "other numbers of ranks",
    "nodes": "other numbers of nodes",
    "size": "other sizes",
    "timing method": "times of another definition",
}


def _references(shape: Shape, system: System, systems: Iterable[System]) -> dict[str, list[Reference]]:
    """Return the references at one shape, each once: by its first definition that `system` has, too."""
    found: dict[str, list[Reference]] = defaultdict(list)
    for other in systems:
        like = next((theirs for theirs in other.times if theirs.is_like(shape)), None)
        times = other.times[like] if like else {}
        if definition := next((name for name in times if name in system.times[shape]), None):
            best = times[definition]
            rate = busbw(shape.nbytes, best.time_s, shape.ranks)
            found[definition].append(Reference(other.source, other.tool, best.line, best.algorithm, best.time_s, rate))
    return found


def _place(shape: Shape, definition: str, system: System, references: Sequence[Reference]) -> Place:
    own = system.times[shape][definition]
    rate = busbw(shape.nbytes, own.time_s, shape.ranks)
    rates = [reference.busbw_bytes_per_s for reference in references]
    middle = median(rates)
    return Place(
        *shape,
        time_definition=definition,
        algorithm=own.algorithm,
        time_s=own.time_s,
        busbw_bytes_per_s=rate,
        place=1 + sum(other > rate for other in rates),
        of=1 + len(rates),
        median_busbw_bytes_per_s=middle,
        of_median=rate / middle,
        references=tuple(sorted(references, key=lambda reference: -reference.busbw_bytes_per_s)),
    )


def _why_unlike(system: System, other: System) -> str:
    """Return the first of UNLIKE in which a system differs from `system` everywhere."""
    pairs = [(own, theirs) for own in system.times for theirs in other.times if own.ranks == theirs.ranks]
    if not pairs:
        return "ranks"
    pairs = [(own, theirs) for own, theirs in pairs if own.is_on_as_many_nodes(theirs)]
    if not pairs:
        return "nodes"
    return "timing method" if any(own.nbytes == theirs.nbytes for own, theirs in pairs) else "size"
