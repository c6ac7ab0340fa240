"""Runs with equal plans, such as of jobs submitted by hand, merged into one; the sources stay unchanged."""

import hashlib
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ..runs.attempt import Attempt, calls_of_cell
from ..runs.files import read_kept
from ..runs.folder import RunFolder, run_names
from ..runs.identified import identified_of, joined, keep_identified
from ..runs.plan import Launch, Plan
from ..runs.recorder import Recorder, create_run, is_taken
from ..runs.rows import RunError
from ..units import in_ranks, shell_word

ANEW = ("run_crc32", "launch", "attempt", "cells", "crc32")  # of a launch's copy
OWN = ("ranks", "seed", "launches")  # fields that may differ between runs of one measurement
SAME_IN_ALL = {  # facts that launches with equal ranks have in common
    "MPI library": lambda fact: fact["mpi"].get("library"),
    "thread level": lambda fact: fact["mpi"].get("thread_level"),
    "number of nodes": lambda fact: fact.get("nodes"),
    "number of pretended nodes": lambda fact: fact.get("nodes_declared"),
}


@dataclass(frozen=True)
class Source:
    """A run that is merged."""

    name: str
    folder: RunFolder
    plan: Plan
    renamed: dict[Launch, Launch]  # launch of the source -> launch of the new run


def merge(folders: Sequence[RunFolder], output: Path, command: Sequence[str]) -> RunFolder:
    """Make the run `output` of all launches of `folders`; those of a name that is taken get the next free number.

    All or nothing. Raises RunError: `output` exists and is no empty folder, a folder cannot be read, was imported or
    holds no cell, or two of them differ in more than ranks, launches and seed.
    """
    if is_taken(output):
        raise RunError(f"{output}: exists already; choose another folder with -o")
    paths = [folder.path.resolve() for folder in folders]
    if twice := [folder.path for folder, path in zip(folders, paths) if paths.count(path) > 1]:
        raise RunError(f"{twice[0]}: named twice; name each run once")
    from ..evaluation.summary import record_summary  # late: it loads pandas

    sources = _renumber_launches(folders, [_plan_of(folder) for folder in folders])
    for source in sources:
        source.folder.marks()  # refuses a run without any
        _refuse_damaged(source)
        _refuse_other_plan(sources[0], source)
    _refuse_other_launches(sources)
    plan = _merge_plans(sources)
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{output.name}.", dir=output.parent) as beside:
        folder = RunFolder(Path(beside) / "run")
        create_run(folder, plan, command, merged=[_facts(source) for source in sources])
        for source in sources:
            for attempt in sorted(source.folder.kept(), key=lambda attempt: attempt.number):
                if attempt.facts:
                    _copy_attempt(source, attempt, folder, plan.seed)
        _join_identified(sources, folder, plan)
        record_summary(folder)
        folder.path.rename(output)
    return RunFolder(output)


def _plan_of(folder: RunFolder) -> Plan:
    if imported := folder.imported():
        raise RunError(
            f"{folder.path}: imported from {imported['tool']}; only runs measured with this program can be merged"
        )
    return folder.plan()


def _refuse_other_plan(first: Source, other: Source) -> None:
    first_values, other_values = (_flat(source.plan) for source in (first, other))
    own = OWN if first.plan.check != "bits" else ("ranks", "launches")  # bits of other floats are other bits
    for name in first_values:
        if name not in own and first_values[name] != other_values[name]:
            expected, found = _value_text(first_values[name]), _value_text(other_values[name])
            values = f"{name} {found}, but {first.folder.path} has {expected}"
            raise RunError(f"{other.folder.path}: has {values}; only runs with equal plans can be merged")


def _refuse_damaged(source: Source) -> None:
    """Raise RunError if something of the run was lost or changed, and was not measured again since."""
    for damage in source.folder.damages():
        if source.folder.cells_left(source.plan, damage.launch):
            way = f"measure it again first: allreduce-bench run --resume -o {shell_word(source.folder.path)}"
            raise RunError(f"{damage.path}: damaged: {damage.found}; {way}")


def _flat(plan: Plan) -> dict[str, Any]:
    values = asdict(plan)
    return values | values.pop("start")


def _value_text(value: Any) -> str:
    return ",".join(map(str, value)) or "none" if isinstance(value, tuple) else f"{'none' if value is None else value}"


def _refuse_other_launches(sources: Sequence[Source]) -> None:
    """Raise RunError if launches with equal ranks ran differently."""
    for what, ask in SAME_IN_ALL.items():
        first_of: dict[int, tuple[Source, Any]] = {}
        for source in sources:
            for fact in source.folder.attempts():
                first, value = first_of.setdefault(fact["ranks"], (source, ask(fact)))
                if value != ask(fact) and first is not source:
                    values = f"{what} {_value_text(ask(fact))} at {in_ranks([fact['ranks']])}"
                    first_value = f"{first.folder.path} has {_value_text(value)}"
                    raise RunError(
                        f"{source.folder.path}: has {values}, but {first_value}; such launches cannot be merged"
                    )


def _renumber_launches(folders: Sequence[RunFolder], plans: Sequence[Plan]) -> list[Source]:
    """Renumber the launches of the runs: each keeps its number if it is free, else gets the lowest that is."""
    taken: dict[int, set[int]] = defaultdict(set)
    numbered = []
    for name, folder, plan in zip(run_names(folders), folders, plans):
        renamed: dict[Launch, Launch] = {}
        for launch in sorted(folder.attempt_numbers()):
            numbers = taken[launch.ranks]
            beside = (new.number for old, new in renamed.items() if old[:2] == launch[:2])
            free = (number for number in (launch.number, *range(1, len(numbers) + 2)) if number not in numbers)
            renamed[launch] = launch._replace(number=next(beside, None) or next(free))
            numbers.add(renamed[launch].number)
        numbered.append(Source(name, folder, plan, renamed))
    return numbered


def _merge_plans(sources: Sequence[Source]) -> Plan:
    """Return the merged plan: every rank count, and as many launches as any of them has."""
    plans = [source.plan for source in sources]
    used = [launch.number for source in sources for launch in source.renamed.values()]
    ranks = tuple(sorted({ranks for plan in plans for ranks in plan.ranks}))
    return replace(plans[0], ranks=ranks, launches=max([*(plan.launches for plan in plans), *used]))


def _facts(source: Source) -> dict[str, Any]:
    """Return the facts of a source for run.json."""
    return {
        "name": source.name,
        "sha256": _digest(source.folder),
        "created": source.folder.open().get("created"),
        "seed": source.plan.seed,
        "launches": {old.name: new.name for old, new in source.renamed.items()},
    }


def _digest(folder: RunFolder) -> str:
    """Return the fingerprint of all that was measured: of the names and digests of the files."""
    digest = hashlib.sha256()
    for path in [folder.run_json, *sorted(path for path in folder.launches.rglob("*") if not path.is_dir())]:
        content = hashlib.sha256(read_kept(path)).hexdigest()
        digest.update(f"{path.relative_to(folder.path).as_posix()}\0{content}\n".encode(errors="surrogateescape"))
    return digest.hexdigest()


def _join_identified(sources: Sequence[Source], into: RunFolder, plan: Plan) -> None:
    """Keep what the sources say together of which algorithms the library ran."""
    of_sources = [identified_of(source.folder, source.plan.ranks) for source in sources]
    for ranks in plan.ranks:
        if together := joined([found[ranks] for found in of_sources if ranks in found]):
            keep_identified(into, together)


def _copy_attempt(source: Source, attempt: Attempt, into: RunFolder, seed: int) -> None:
    """Copy the intact part of an attempt, without fingerprints of results if these are of other floats than `seed`'s.

    Its new writer sets some of its facts anew.
    """
    merged_from = {"run": source.name, "launch": attempt.launch.name, "attempt": attempt.number}
    facts = {name: value for name, value in attempt.facts.items() if name not in ANEW}
    recorder = Recorder(into, source.renamed[attempt.launch].name, {**facts, "merged_from": merged_from}, sync=False)
    for mark in attempt.cells:
        changed = {"bits": ""} if source.plan.seed != seed else {}
        if mark["stamps"]:
            changed["stamps"] = recorder.keep_stamps(read_kept(attempt.launches / mark["stamps"]))
        calls = calls_of_cell(attempt, mark) if mark["calls"] != "0" else b""
        recorder.cell_of_lines({**mark, **changed}, calls, int(mark["calls"]))
    if attempt.is_sealed:
        recorder.seal()
