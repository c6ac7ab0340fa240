"""Convert a run of layouts 3 to 5 to the present layout: seconds.

    python tests/studies/convert_layout.py results/old results/new

Checks nothing, and makes all checksums anew. A run with several values of a condition (placement, arrival, cache,
groups beside one alone) keeps the cells of the first one.
"""

import argparse
import csv
import io
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path

from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.runs.competitor import COMPILED, FLOOR_PREFIX, FORCED_PREFIX, GLOO, NATIVE, NATIVES, WAYS
from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.runs.plan import Plan
from allreduce_bench.runs.recorder import Recorder, write_summary
from allreduce_bench.runs.schema import COMPLETION, LAYOUT, MAX_LOCAL, join_values
from allreduce_bench.runs.typed_json import checked_json

Row = dict[str, str]
KEY = ("algorithm", "executor", "count", "segment", "window", "cache", "groups", "arrival", "placement")
OWN = ("schema_version", "run_crc32", "launch", "attempt", "marks", "last_mark_crc32", "crc32")
CONDITIONS = ("cache", "groups", "arrival", "placement")


def convert(old: Path, new: Path) -> RunFolder:
    """Write the run in `old` to the folder `new`, which must not exist."""
    content = json.loads((old / "run.json").read_text())
    plan = _plan_of(content["plan"])
    folder = RunFolder(new)
    folder.launches.mkdir(parents=True)
    kept = {name: value for name, value in content.items() if name not in ("schema_version", "crc32", "plan")}
    folder.run_json.write_bytes(checked_json({"layout": LAYOUT, "id": "0", **kept, "plan": plan}))
    for facts_json in sorted((old / "launches").glob("*.json")):
        _convert_attempt(folder, facts_json)
    write_summary(folder, summarise(folder))
    return folder


def competitor_of(algorithm: str, executor: str) -> str:
    """Return the name of the competitor."""
    if executor == "floor":
        return FLOOR_PREFIX + algorithm
    return f"{algorithm}@{executor}" if executor in WAYS[1:] else algorithm


def _plan_of(plan: Mapping) -> dict:
    executors = plan.get("executors", WAYS[:1])
    competitors = [each for name in plan["algorithms"] for each in _competitors(name, executors, plan["algorithms"])]
    kept = {name: value for name, value in plan.items() if name in {field.name for field in fields(Plan)}}
    for name in ("arrival", "placement"):
        if isinstance(kept.get(name), list):
            kept[name] = (kept[name] or [""])[0]
    if kept.get("cache") == "both":
        kept["cache"] = "warm"
    kept["cuts"] = [{**cut, "size_bytes": cut["size_bytes"]} for cut in plan.get("cuts", ())]
    for cut in kept["cuts"]:
        del cut["size_bytes"]
    sync = plan["sync"] if plan["sync"] != "dissemination" else "barrier"
    usual = Plan(("ring",), (8,), (2,)).to_json()
    start = usual["start"] | dict(kept.get("start", {}))
    return usual | {"placement": ""} | kept | {"competitors": competitors, "sync": sync, "start": start}


def _competitors(algorithm: str, executors: Sequence[str], algorithms: Sequence[str]) -> Iterator[str]:
    """Yield the competitors of an algorithm: native is called as the others beside it."""
    if algorithm == NATIVE:
        by_name = any(name.startswith(FORCED_PREFIX) or name == GLOO for name in algorithms)
        if by_name or not {*executors} <= {*COMPILED}:
            yield NATIVES[0]
        if not {*executors}.isdisjoint(COMPILED):
            yield NATIVES[1]
    elif algorithm.startswith(FORCED_PREFIX):
        yield algorithm
    else:
        yield from (competitor_of(algorithm, executor) for executor in executors)


def _convert_attempt(folder: RunFolder, facts_json: Path) -> None:
    facts = json.loads(facts_json.read_text())
    calls: dict[tuple, list[Row]] = defaultdict(list)
    for row in _rows(facts_json.with_suffix(".csv")):
        calls[_key(row)].append(row)
    of_now = {name: fact for name, fact in facts.items() if name not in OWN}
    recorder = Recorder(folder, facts["launch"], of_now, sync=False)
    seen = set()
    for mark in _rows(facts_json.with_suffix(".cells.csv")):
        name = competitor_of(mark["algorithm"], mark["executor"]), mark["size_bytes"]
        if name in seen:  # another value of a condition
            continue
        seen.add(name)
        rows = calls[_key(mark)] if mark["state"] == "done" else []
        values = {_start_and_definition(row["time_definition"]) for row in rows}
        one = {row["iterations"] for row in rows}
        own = {"iterations": one.pop() if len(one) == 1 else None}
        for column, of_column in zip(("start", "time_definition"), zip(*values)):
            own[column] = join_values(sorted({*of_column} - {""}))
        if mark.get("stamps"):
            own["stamps"] = recorder.keep_stamps((facts_json.parent / mark["stamps"]).read_bytes())
        recorder.cell(
            {**mark, "competitor": name[0], **own},
            [{**row, "call": row["repetition"], "competitor": name[0], "global_s": _global_s(row)} for row in rows],
        )
    if "marks" in facts or facts["schema_version"] == 3:
        recorder.seal()


def _start_and_definition(name: str) -> tuple[str, str]:
    """Split `barrier_max_local`; a time of another tool has no start."""
    for definition in (MAX_LOCAL, COMPLETION):
        if name.endswith(f"_{definition}"):
            return name.removesuffix(f"_{definition}"), definition
    return "", name


def _global_s(row: Row) -> str | float:
    """Return the global run time of a call, which layout 4 says as completion and skew."""
    parts = row.get("completion_s"), row.get("arrival_skew_s")
    return row.get("global_s") or (sum(map(float, parts)) if all(parts) else "")


def _key(row: Row) -> tuple:
    return tuple(row.get(name) or "" for name in KEY)


def _rows(path: Path) -> Iterator[Row]:
    rows = csv.DictReader(io.StringIO(path.read_text(), newline=""))
    yield from ({**row, "size_bytes": row["nbytes"]} for row in rows)


def main() -> None:
    """Convert a run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    asked = parser.parse_args()
    convert(asked.old, asked.new)


if __name__ == "__main__":
    main()
