"""What `survive` prints: both ways side by side, as table, CSV and JSON."""

import csv
import io
import json

from allreduce_bench.launching.launcher import Launcher
from allreduce_bench.runs.start import Start
from allreduce_bench.survive import BY_RESTART, BY_ULFM, KILL, Failure
from allreduce_bench.survive.output import csv_text, json_text, result_lines
from allreduce_bench.survive.ways import RECOVERED, RESTART, RESTARTED, ULFM, UNAVAILABLE, Outcome, Settings
from allreduce_bench.tables import Screen

SETTINGS = Settings(
    launcher=Launcher("mpirun", "Open MPI 5.0.11", "openmpi"),
    ranks=4,
    start=Start(),
    failures=(Failure(KILL, "3", 20),),
    calls=40,
    repetitions=20,
    every=8,
    notice_s=10.0,
    timeout_s=60.0,
    folder=None,
)
CALLS = {4: [2e-3, 1e-3, 3e-3], 3: [1e-3, 1e-3, 1e-3]}
OUTCOMES = [
    Outcome(
        "ring", 65536, ULFM, RECOVERED, "", dict.fromkeys(BY_ULFM, 0.001), 3, 0, CALLS, CALLS, {4: 3.0, 3: 2.0}, True
    ),
    Outcome(
        "ring", 65536, ULFM, RECOVERED, "", dict.fromkeys(BY_ULFM, 0.003), 3, 0, CALLS, CALLS, {4: 3.0, 3: 2.0}, True
    ),
    Outcome("ring", 65536, RESTART, RESTARTED, "", dict.fromkeys(BY_RESTART, 1.0), 3, 3, CALLS, {}, {}, True),
    Outcome("native", 8, ULFM, UNAVAILABLE, "no ULFM"),
]


def test_a_row_a_way_and_what_failed_in_full():
    lines, sentences = result_lines(SETTINGS, OUTCOMES)
    head, ulfm, restart, native = [line.split() for line in lines[-4:]]
    assert head == ["algorithm", "size", "way", "noticed", "total", "before", "after", "right"]
    assert ulfm[3:5] == ["ulfm", "2.00"] and ulfm[-2:] == ["2", "x"] and "14.0 ms (7.00 ms-21.0 ms)" in lines[-3]
    assert restart[3:] == ["restart", "1.00", "s", "6.00", "s", "2.00", "ms", "1.00", "ms", "yes"] and native[-1] == "-"
    assert len(sentences) == 1 and "no ULFM" in sentences[0]
    narrow, _ = result_lines(SETTINGS, OUTCOMES, Screen(80))
    assert max(map(len, narrow[2:])) <= 80


def test_how_often_to_write_a_checkpoint_is_said_in_units_that_fit():
    _, (_, interval, *shares) = result_lines(SETTINGS._replace(mttf_s=86400.0, takes_s=0.2), OUTCOMES)
    assert "24.0 h" in interval and "200 ms" in interval and "3.10 min" in interval
    assert [share.partition(":")[0] for share in shares] == [ULFM, RESTART]


def test_json_has_an_object_an_outcome_and_csv_holds_the_same():
    content = json.loads(json_text(SETTINGS, OUTCOMES))
    assert list(content) == ["schema", "library", "ranks", "failures", "notice_within_s", "detector", "outcomes"]
    keys = ["algorithm", "size_bytes", "way", "state", "reason", "phases_s", "total_s", "ranks_left", "steps_lost"]
    calls = ["proved", "before", "after", "before_with_agreement", "after_with_agreement"]
    assert {tuple(one) for one in content["outcomes"]} == {(*keys, *calls, "ratio", "predicted_ratio")}
    assert list(content["failures"][0]) == ["kind", "whom", "call", "phase", "delay_s"]
    outcomes, rows = content["outcomes"], [*csv.DictReader(io.StringIO(csv_text(SETTINGS, OUTCOMES)))]
    assert [one["total_s"] for one in outcomes] == [float(row["total_s"]) if row["total_s"] else None for row in rows]
    assert outcomes[0]["ratio"] == 0.5 and rows[0]["shrink_s"] == "0.001" and rows[3]["notice_s"] == ""
