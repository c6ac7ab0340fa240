"""Limits that a machine has to meet: how they are read, whom they judge, and what a run does about them."""

import subprocess

import pytest
from interpreters import in_turn, interpreters
from made_runs import build_run, waits
from measured_runs import mpirun

from allreduce_bench.evaluation.acceptance import AcceptanceLimit, judge, parse_limits, refuse_unplanned
from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.runs.plan import Plan, PlanError

MIB, REDUCE_BCAST = 1 << 20, "native:reduce+bcast"


@pytest.mark.parametrize(
    ("quantity", "text", "limits"),
    [
        ("busbw", "64M:20", [AcceptanceLimit("busbw", 64 * MIB, 20e9)]),
        ("busbw", "64M:20GB/s", [AcceptanceLimit("busbw", 64 * MIB, 20e9)]),
        (
            "busbw",
            "64MiB:0.5, ring:8:160Gbit",
            [AcceptanceLimit("busbw", 64 * MIB, 5e8), AcceptanceLimit("busbw", 8, 20e9, "ring")],
        ),
        ("busbw", "ring@pipelined:64K:1K:1", [AcceptanceLimit("busbw", 1024, 1e9, "ring@pipelined:64K")]),
        ("time", "8:15us", [AcceptanceLimit("time", 8, 15e-6)]),
        (
            "time",
            "ring:1K:1m30s,0:2ms",
            [AcceptanceLimit("time", 1024, 90.0, "ring"), AcceptanceLimit("time", 0, 2e-3)],
        ),
    ],
)
def test_limits_are_read(quantity, text, limits):
    assert [limit._replace(value=pytest.approx(limit.value)) for limit in limits] == list(parse_limits(quantity, text))


@pytest.mark.parametrize(
    ("kind", "text", "why"),
    [
        ("busbw", "20", "a size and a value are needed"),
        ("busbw", "64M:fast", "'fast' is not a rate"),
        ("busbw", "64M:0", "the value must be above 0"),
        ("busbw", "", "a size and a value are needed"),
        ("time", "8:15", "'15' has no unit"),
        ("time", "x:1us", ""),
        ("busbw", "ring@64M:20", "a competitor stands before a colon: ring:64M:20"),
    ],
)
def test_what_is_wrong_with_a_limit_is_said(kind, text, why):
    with pytest.raises(ValueError, match=f"^'{text}' is not a limit: {why}"):
        parse_limits(kind, text)


def test_a_limit_is_read_again_from_its_words():
    """As `submit` hands it to its jobs."""
    for quantity, text in (("busbw", "ring:64M:20"), ("time", "8:15us")):
        (limit,) = parse_limits(quantity, text)
        assert parse_limits(quantity, limit.words) == (limit._replace(value=pytest.approx(limit.value)),)


def test_a_mock_up_is_judged_only_where_it_is_named(tmp_path):
    def factor(launch, cell):
        return 0.5 if cell.algorithm == REDUCE_BCAST else 1.0

    folder = build_run(tmp_path / "run", algorithms=["native", REDUCE_BCAST], ranks=(2,), factor=factor)
    native_s, made_s = (
        next(row["time_s"] for row in summarise(folder) if (row["competitor"], row["size_bytes"]) == (name, 8))
        for name in ("native", REDUCE_BCAST)
    )
    limits = [AcceptanceLimit("time", 8, (native_s + made_s) / 2, name) for name in (None, REDUCE_BCAST)]
    refuse_unplanned(limits, folder.plan())
    assert [judged.met for judged in judge(limits, folder.plan(), summarise(folder))] == [False, True]


def plan(**changes) -> Plan:
    values = {"competitors": ("native", "ring"), "sizes": (8, MIB), "ranks": (1, 2), "launches": 1, "seed": 1}
    return Plan(**{**values, **changes})


@pytest.mark.parametrize(
    ("limit", "changes", "says"),
    [
        (
            AcceptanceLimit("busbw", 64 * MIB, 1e9),
            {},
            r"--min-busbw: the run.*64 MiB \(nearest size: 1 MiB\)",
        ),
        (
            AcceptanceLimit("time", 8, 1e-6, "rign"),
            {},
            "--max-time: 'rign' is not measured",
        ),
        (
            AcceptanceLimit("time", 8, 1e-6),
            {"ranks": (1,)},
            "--max-time: a single",
        ),
    ],
)
def test_a_limit_that_nothing_could_meet_is_refused(limit, changes, says):
    refuse_unplanned([AcceptanceLimit("busbw", MIB, 1e9), AcceptanceLimit("time", 8, 1e-6, "ring")], plan())
    with pytest.raises(PlanError, match=says):
        refuse_unplanned([limit], plan(**changes))


@pytest.fixture(scope="module")
def summary(tmp_path_factory):
    """At 1 MiB two_tree was skipped everywhere, at 4 MiB everything."""

    def outcome(launch, cell):
        skipped = cell.size_bytes == 4 * MIB or (cell.size_bytes == 4 * MIB // 4 and cell.algorithm == "two_tree")
        return {"state": "skipped", "reason": "no memory"} if skipped else {}

    folder = build_run(tmp_path_factory.mktemp("runs") / "run", ranks=(1, 2, 4), outcome=outcome)
    return folder.plan(), summarise(folder)


def row_of(rows, algorithm: str, ranks: int, size_bytes: int) -> dict:
    (row,) = [
        row for row in rows if (row["competitor"], row["ranks"], row["size_bytes"]) == (algorithm, ranks, size_bytes)
    ]
    return row


def test_the_fastest_algorithm_has_to_meet_a_limit_at_every_rank_count_above_one(summary):
    plan, rows = summary
    best = {n: min(row["time_s"] for row in rows if (row["ranks"], row["size_bytes"]) == (n, 65536)) for n in (2, 4)}
    assert best[2] < best[4]
    both, one, none = (
        judge([AcceptanceLimit("time", 65536, best[n] * f)], plan, rows) for n, f in ((4, 1), (2, 1), (2, 0.999))
    )
    assert [judgement.met for judgement in (*both, *one, *none)] == [True, True, True, False, False, False]


def test_a_named_algorithm_is_judged_alone(summary):
    plan, rows = summary
    native, ring = (row_of(rows, name, 4, 1024)["busbw_bytes_per_s"] for name in ("native", "ring"))
    assert ring < native
    between = (ring + native) / 2
    assert judge([AcceptanceLimit("busbw", 1024, between)], plan, rows)[1].met
    judgement = judge([AcceptanceLimit("busbw", 1024, between, "ring")], plan, rows)[1]
    assert not judgement.met and judgement.cell == "ring 1 KiB, 4 ranks"
    assert judgement.sentence.startswith("FAILED: ring 1 KiB, 4 ranks: busbw 0.")
    assert judgement.sentence.endswith(f" GB/s, required {between / 1e9:.9g} GB/s")


def test_what_was_not_measured_fails_its_limit(summary):
    plan, rows = summary
    assert judge([AcceptanceLimit("time", MIB, 1.0)], plan, rows)[0].met  # by one of the others
    named, all_of_them = judge(
        [AcceptanceLimit("time", MIB, 1.0, "two_tree"), AcceptanceLimit("time", 4 * MIB, 1.0)], plan, rows
    )[::2]
    assert not named.met and not all_of_them.met
    assert named.sentence == "FAILED: two_tree 1 MiB, 2 ranks: skipped (no memory); required 1000000 us"
    assert all_of_them.sentence == "FAILED: every algorithm 4 MiB, 2 ranks: skipped (no memory); required 1000000 us"


def test_a_near_miss_is_not_rounded_to_the_limit(summary):
    plan, rows = summary
    row = {**row_of(rows, "ring", 2, 8), "time_s": 15.0001e-6, "busbw_bytes_per_s": 19.9999e9}
    slow, low = judge([AcceptanceLimit("time", 8, 15e-6), AcceptanceLimit("busbw", 8, 20e9)], plan, [row])[::2]
    assert slow.sentence == "FAILED: ring 8 B, 2 ranks: time 15.0001 us, required 15 us"
    assert low.sentence == "FAILED: ring 8 B, 2 ranks: busbw 19.9999 GB/s, required 20 GB/s"


needs_mpi = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")


@needs_mpi
@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
@pytest.mark.parametrize("started", ["by us", "by mpirun"])
def test_a_run_that_misses_a_limit_ends_with_status_1_and_names_the_cell(python, run_on_ranks, tmp_path, started):
    in_turn(started == "by us", python)

    def run(*words: object) -> subprocess.CompletedProcess:
        if started == "by us":
            return run_on_ranks(*words)
        return subprocess.run(mpirun(python, 2, "run", *words), capture_output=True, text=True, timeout=600)

    words = [*("-n", 2) * (started == "by us"), "-a", "native,ring", "--sizes", "8,1M", "--launches", 1, "--iters", 5]
    limits = ["--min-busbw", "1M:0.000001,ring:1M:1000000", "--max-time", "8:1h"]
    result = run(*words, *limits, "-o", tmp_path / "run")
    assert result.returncode == 1 and "Traceback" not in result.stderr
    judged = [line for line in result.stdout.splitlines() if line.startswith(("accepted: ", "FAILED: "))]
    assert len(judged) == 3 and result.stdout.strip().splitlines()[-3:] == judged
    assert [line.split(":")[0] for line in judged] == ["accepted", "FAILED", "accepted"]
    assert judged[1].startswith("FAILED: ring 1 MiB, 2 ranks: busbw ")
    if started == "by us":
        assert "error: not accepted: ring 1 MiB, 2 ranks; results" in result.stderr.splitlines()[-1]
    limits = ["--min-busbw", "1M:0.000001", "--max-time", "8:1h", "--max-time", "ring:1M:1h", "--format", "csv"]
    again = run("--resume", *limits, "-o", tmp_path / "run")
    assert again.returncode == 0, again.stderr
    assert again.stderr.count("accepted: ") == 3 and "accepted" not in again.stdout


def test_launches_in_two_states_are_judged_by_the_slow_one(tmp_path):
    def also_ring(launch, cell):
        return waits(launch, cell) * (30.0 if cell.algorithm == "ring" else 1.0)

    folder = build_run(tmp_path / "run", launches=5, factor=also_ring, ranks=(4,), algorithms=("native", "ring"))
    rows = summarise(folder)
    row = next(row for row in rows if (row["competitor"], row["size_bytes"]) == ("native", MIB))
    between_s = (row["state_low_s"] * row["state_high_s"]) ** 0.5
    judgements = judge([AcceptanceLimit("time", MIB, between_s)], folder.plan(), rows)
    judgements += judge([AcceptanceLimit("busbw", MIB, row["busbw_bytes_per_s"] / 2)], folder.plan(), rows)
    assert [judgement.met for judgement in judgements] == [False, False]
    assert all("at the slow" in judgement.sentence and "of 2 of" in judgement.sentence for judgement in judgements)
