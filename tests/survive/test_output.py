"""What `survive` prints: both ways side by side, as table and JSON."""

import json

from allreduce_bench.launching.launcher import Launcher
from allreduce_bench.runs.start import Start
from allreduce_bench.survive import BY_RESTART, BY_ULFM, KILL, Failure
from allreduce_bench.survive.output import json_text, result_lines
from allreduce_bench.survive.ways import RECOVERED, RESTART, RESTARTED, ULFM, UNAVAILABLE, Outcome, Settings
from allreduce_bench.tables import Screen

SETTINGS = Settings(
    launcher=Launcher("mpirun", "Open MPI 5.0.11", "openmpi"),
    ranks=4,
    start=Start(),
    failures=(Failure(KILL, "3", 20),),
    calls=40,
    every=8,
    notice_s=10.0,
    timeout_s=60.0,
)
CALLS = {4: [2e-3, 1e-3, 3e-3], 3: [1e-3, 1e-3, 1e-3]}
OUTCOMES = [
    Outcome("ring", 65536, ULFM, RECOVERED, "", dict.fromkeys(BY_ULFM, 0.001), 3, 0, CALLS, CALLS),
    Outcome("ring", 65536, ULFM, RECOVERED, "", dict.fromkeys(BY_ULFM, 0.003), 3, 0, CALLS, CALLS),
    Outcome("ring", 65536, RESTART, RESTARTED, "", dict.fromkeys(BY_RESTART, 1.0), 3, 3, CALLS, {}),
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


def test_json_has_an_object_an_outcome():
    content = json.loads(json_text(SETTINGS, OUTCOMES))
    assert list(content) == ["schema", "library", "ranks", "failures", "notice_within_s", "detector", "outcomes"]
    keys = ["algorithm", "size_bytes", "way", "state", "reason", "phases_s", "total_s", "ranks_left", "steps_lost"]
    calls = ["before", "after", "before_with_agreement", "after_with_agreement"]
    assert {tuple(one) for one in content["outcomes"]} == {(*keys, *calls, "ratio")}
    assert list(content["failures"][0]) == ["kind", "whom", "call", "phase", "delay_s"]
    assert content["outcomes"][0]["ratio"] == 0.5
