"""Profiles made by hand."""

from pathlib import Path

from allreduce_bench.profiling.profile import SCHEMA, CountedAllreduce, Profile


def counted(nbytes: int | None, calls: int, dtype: str = "float32", op: str = "sum", **more) -> CountedAllreduce:
    """All-reduces of four ranks."""
    values = {"ranks": 4, "in_place": False, "call": "blocking", "rank_calls": 4 * calls, "median_gap_s": 1e-3}
    return CountedAllreduce(nbytes=nbytes, dtype=dtype, op=op, calls=calls, **{**values, **more})


def profile_of(*rows: CountedAllreduce, **more) -> Profile:
    """A profile with these rows."""
    values = {
        "schema": SCHEMA,
        "program": "allreduce-bench 0.1.0",
        "created": "2026-01-02T03:04:05+00:00",
        "command": ("allreduce-bench", "exec", "-n", "4", "--profile", "--", "./app"),
        "library": "Open MPI 5.0.11",
        "counted_in": "MPI",
        "ranks": 4,
        "processes": 4,
        "left_out_calls": 0,
    }
    return Profile(allreduces=rows, **{**values, **more})


def profile_file(folder: Path, *rows: CountedAllreduce) -> Path:
    """The file of such a profile."""
    path = folder / "profile.json"
    path.write_text(profile_of(*rows).to_text())
    return path
