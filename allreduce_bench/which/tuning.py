"""What a library is to be told, made from runs: rules where one of its algorithms gains in every run.

`make_tuning` refuses runs that cannot be a source. What gains is `evaluation.settable`'s answer, which tables and pages
give as "What you can set"; where the library runs that algorithm by itself, there is no rule.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..evaluation.grade import NOT_RELIABLE
from ..evaluation.rounds import FEWEST_ROUNDS
from ..evaluation.settable import FORCED_DEFAULT, Gain, find_settable
from ..evaluation.summary import summarise
from ..evaluation.summary_row import SummaryRow
from ..machine import MPICH, OPEN_MPI
from ..report.grade_sentence import reasons_words
from ..runs.competitor import FORCED_ALL, NATIVE, Competitor
from ..runs.conditions import conditions_of, conditions_text
from ..runs.folder import RunFolder
from ..runs.identified import identified_of
from ..runs.library_algorithms import own_name
from ..runs.plan import ImportedPlan, Plan
from ..units import format_ranges, format_size, in_ranks, shell_word, short_size, significant
from .settings import DYNAMIC, settings

WRITTEN_FOR = {OPEN_MPI: "5", MPICH: ""}  # library -> major version whose files are written; empty: any
FEWEST_SIZES = 2  # of a run
NOT_TOLD = ("pml", "mtl", DYNAMIC)  # variables that choose how messages go, or nothing by themselves
NOT_EXPRESSED = {"tree": "its kind of tree, which a selection file numbers otherwise in each version"}  # of MPICH


class TuneError(ValueError):
    """A run that no rules can be made from; the message says what to run instead."""


def format_span(*factors: float) -> str:
    """Format `1.2 to 1.4`; `1.2` where the least and the largest factor look alike."""
    return " to ".join(dict.fromkeys(significant(end(factors), 2) for end in (min, max)))


@dataclass(frozen=True)
class Rule:
    """One algorithm for communicators of so many ranks, from one size to another one."""

    ranks: int
    low_bytes: int
    high_bytes: int  # inclusive
    algorithm: str  # as the library calls it
    default: tuple[str, ...]  # what the library runs there by itself; empty: not known
    least: float  # how many times as fast as the default: at the size and in the run where it gains least
    most: float
    worst: float  # in the worst round
    rounds: int

    @property
    def sizes_words(self) -> str:
        """Format `512 B to 8 KiB`."""
        return f"{format_size(self.low_bytes)} to {format_size(self.high_bytes)}"

    @property
    def where(self) -> str:
        """Format `4 ranks, 512 B to 8 KiB`."""
        return f"{in_ranks([self.ranks])}, {self.sizes_words}"

    @property
    def words(self) -> str:
        """Format `4 ranks, 8 B to 1 KiB: ring, 1.2 to 1.4 times as fast as native:default (1.1 in the worst of …)`."""
        times = f"{format_span(self.least, self.most)} times as fast as {FORCED_DEFAULT}"
        worst = significant(self.worst, 2)
        return f"{self.where}: {self.algorithm}, {times} ({worst} in the worst of {self.rounds} rounds)"


@dataclass(frozen=True)
class Tuning:
    """Rules for one library, and what they were made from."""

    library: str  # with its version
    runs: tuple[str, ...]  # paths as given
    days: tuple[str, ...]
    hosts: tuple[str, ...]
    conditions: str  # of the runs, that are not the default; empty: none
    ranks: tuple[int, ...]  # all that were measured
    sizes: tuple[int, ...]  # bytes
    rules: tuple[Rule, ...]
    told: str = ""  # variables that had told the default something; empty: none
    left: tuple[str, ...] = ()  # where something is faster, and why there is no rule
    verified: str = ""  # by whom and when; empty: not yet
    is_draft: bool = True  # made from one allocation


@dataclass(frozen=True)
class _Source:
    """One run."""

    folder: RunFolder
    plan: Plan
    rows: list[SummaryRow]
    library: str
    hosts: tuple[str, ...]
    day: str
    told: str


def make_tuning(paths: Sequence[Path]) -> Tuning:
    """Return the rules that all runs bear. Raises TuneError, RunError."""
    sources = [_read_source(path) for path in paths]
    first = sources[0]
    ids = [source.folder.open().get("id") for source in sources]
    for number, path in enumerate(paths):
        if ids[number] in ids[:number]:
            raise TuneError(f"{path}: the same run as {paths[ids.index(ids[number])]}; name it once")
    for path, other in zip(paths[1:], sources[1:]):
        _refuse_other(path, other, paths[0], first)
    counts = sorted(set.intersection(*({*source.plan.ranks} for source in sources)))
    if not counts:
        raise TuneError(f"{paths[1]}: has no number of ranks in common with {paths[0]}; measure the same -n")
    rules: list[Rule] = []
    left: list[str] = []
    for ranks in counts:
        of_ranks, why = _rules_of_ranks(ranks, sources)
        rules += of_ranks
        left += why
    return Tuning(
        first.library,
        tuple(map(str, paths)),
        tuple(sorted({source.day for source in sources})),
        tuple(sorted({host for source in sources for host in source.hosts})),
        conditions_text(first.plan),
        tuple(counts),
        tuple(sorted(set.intersection(*({*source.plan.sizes} for source in sources)))),
        tuple(rules),
        "; ".join(dict.fromkeys(filter(None, (source.told for source in sources)))),
        tuple(left),
        is_draft=len({(source.day, source.hosts) for source in sources}) < 2,
    )


def _rules_of_ranks(ranks: int, sources: Sequence[_Source]) -> tuple[list[Rule], list[str]]:
    """Return the rules of one number of ranks, and where something is faster without a rule."""
    found = find_settable([[row for row in source.rows if row["ranks"] == ranks] for source in sources])
    if found is None:
        return [], []
    rules, left = [], []
    for gain in found.gains:
        name = own_name(gain.name, sources[0].library)
        default = _default_at(gain, ranks, sources)
        rule = Rule(
            ranks, gain.sizes[0], gain.sizes[-1], name, default, gain.least, gain.most, gain.worst, gain.launches
        )
        if default == (name,):
            left.append(f"{rule.where}: {name}, which the default runs already")
        elif sources[0].library.startswith(MPICH) and name in NOT_EXPRESSED:
            left.append(f"{rule.where}: {name}, of which a rule does not express {NOT_EXPRESSED[name]}")
        else:
            rules.append(rule)
    for size_bytes, name in found.alone:
        left.append(f"{in_ranks([ranks])}, {format_size(size_bytes)}: {name.partition(':')[2]}, at one size alone")
    return rules, left


def _default_at(gain: Gain, ranks: int, sources: Sequence[_Source]) -> tuple[str, ...]:
    """Return what the library can have run by itself at the sizes of a gain, as far as the runs looked."""
    seen = [found for source in sources if (found := identified_of(source.folder, [ranks]).get(ranks))]
    ran = [one for found in seen for size in gain.sizes if (one := found.at(NATIVE, size))]
    return tuple(dict.fromkeys(name for one in ran for name in one.names))


def told_words(variables: Mapping[str, str], library: str) -> str:
    """Return `NAME=VALUE NAME=VALUE` of what variables of the environment tell the library about all-reduce."""
    told = [one for one in settings(variables, [], library) if not one.problem and one.name not in NOT_TOLD]
    return " ".join(f"{one.name}={one.value}" for one in told)


# Runs that are no source


def _read_source(path: Path) -> _Source:
    """Return a run that rules can be made from. Raises TuneError, RunError."""
    folder = RunFolder(path)
    folder.open()
    plan = folder.plan()
    if isinstance(plan, ImportedPlan):
        raise TuneError(f"{path}: imported from logs of others, in which no default stands beside; {_advice()}")
    _refuse_plan(path, plan)
    attempts = folder.attempts()
    libraries = sorted({fact["mpi"]["library"] for fact in attempts})
    if len(libraries) != 1:
        found = " and ".join(libraries) or "none"
        raise TuneError(f"{path}: expected launches of one library, found {found}; {_advice(plan)}")
    _refuse_library(path, libraries[0])
    if crowd := next((fact for fact in attempts if fact["nodes"] > 1), None):
        raise TuneError(
            f"{path}: {in_ranks([crowd['ranks']])} on {crowd['nodes']} nodes, where other parts of the library choose "
            "(han of Open MPI, compositions of MPICH) than those that native:... told; expected one node: "
            f"{_command(plan)}"
        )
    rows = summarise(folder)
    for ranks in plan.ranks:
        _refuse_rows(path, plan, ranks, [row for row in rows if row["ranks"] == ranks])
    hosts = tuple(sorted({host for fact in attempts for host in fact["hosts"]}))
    told = " ".join(dict.fromkeys(told_words(fact["variables"], libraries[0]) for fact in attempts)).strip()
    return _Source(folder, plan, rows, libraries[0], hosts, str(folder.open()["created"])[:10], told)


def _refuse_plan(path: Path, plan: Plan) -> None:
    names = [Competitor(name) for name in plan.competitors]
    if FORCED_DEFAULT not in plan.competitors or sum(name.is_forced for name in names) < 2:
        raise TuneError(
            f"{path}: expected native:default and algorithms of the library, found {', '.join(plan.competitors)}; "
            f"measure them: {_command(plan)}"
        )
    sizes = [size_bytes for size_bytes in plan.sizes if size_bytes]
    if len(sizes) < FEWEST_SIZES:
        raise TuneError(f"{path}: expected two sizes or more, found {len(sizes)}; {_advice(plan)}")


def _refuse_library(path: Path, library: str) -> None:
    family = next((name for name in WRITTEN_FOR if library.startswith(name)), None)
    if family is None or not library.startswith(f"{family} {WRITTEN_FOR[family]}"):
        raise TuneError(
            f"{path}: measured with {library}; files are written for Open MPI 5 and MPICH"
            + ("; Intel MPI is told by I_MPI_ADJUST_ALLREDUCE" if library.startswith("Intel") else "")
        )


def _refuse_rows(path: Path, plan: Plan, ranks: int, rows: Sequence[SummaryRow]) -> None:
    """Raise TuneError unless default and algorithms of the library have enough launches, and reliable times."""
    enough = [row for row in rows if row["time_s"] and row["size_bytes"] and row["launches"] >= FEWEST_ROUNDS]
    named = {name: {row["size_bytes"] for row in enough if row["competitor"] == name} for name in plan.competitors}
    beside = [sizes & named[FORCED_DEFAULT] for name, sizes in named.items() if Competitor(name).is_forced]
    if sum(len(sizes) >= FEWEST_SIZES for sizes in beside) < 2:  # one of them is the default itself
        resumed = f"measure them: allreduce-bench run --resume -o {shell_word(path)}"
        raise TuneError(
            f"{path}: expected {FEWEST_ROUNDS} launches of native:default and another algorithm of the library at two "
            f"sizes on {in_ranks([ranks])}, found fewer; {resumed if plan.launches >= FEWEST_ROUNDS else _advice(plan)}"
        )
    if rows[0]["grade"] == NOT_RELIABLE:
        why = reasons_words(rows[0]["grading"], 1)
        raise TuneError(
            f"{path}: the times of {in_ranks([ranks])} are not reliable: {why}; measure again: {_command(plan)} "
            "--wait-idle 10m"
        )


def _refuse_other(path: Path, other: _Source, first_path: Path, first: _Source) -> None:
    """Raise TuneError where two runs are of two libraries, or differ in a condition."""
    if other.library != first.library:
        raise TuneError(f"{path}: measured with {other.library}, {first_path} with {first.library}; expected one")
    own, its = conditions_of(first.plan), conditions_of(other.plan)
    if name := next((name for name, value in own.items() if its[name] != value), None):
        raise TuneError(
            f"{path}: {name} is {its[name] or 'not set'}, in {first_path} {own[name] or 'not set'}; two layouts of one "
            "number of ranks have one rule: expected runs of the same conditions"
        )


def _advice(plan: Plan | None = None) -> str:
    return f"measure them: {_command(plan)}"


def _command(plan: Plan | None = None) -> str:
    """Return the command that measures what rules are made from, for the ranks and sizes of a plan."""
    ranks = format_ranges(plan.ranks) if plan else "4"
    sizes = [size for size in plan.sizes if size] if plan else []
    words = ",".join(map(short_size, sizes)) if len(sizes) >= FEWEST_SIZES else "8,1K,8K,64K,1M"
    return f"allreduce-bench run -n {ranks} -a {NATIVE},{FORCED_ALL} --sizes {words} --launches 5"


def rules_at(tuning: Tuning, ranks: int) -> Iterator[Rule]:
    """Yield the rules of so many ranks, by size."""
    yield from sorted((rule for rule in tuning.rules if rule.ranks == ranks), key=lambda rule: rule.low_bytes)


def algorithm_at(tuning: Tuning, ranks: int, size_bytes: int) -> str:
    """Return what is told at a size; empty: the library's own choice."""
    fitting = [rule for rule in rules_at(tuning, ranks) if rule.low_bytes <= size_bytes <= rule.high_bytes]
    return fitting[0].algorithm if fitting else ""


def run_words(tuning: Tuning) -> str:
    """Return the runs as words of a command."""
    return " ".join(map(shell_word, tuning.runs))
