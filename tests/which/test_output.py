"""What `which` prints: one table at 80 columns, and whether it changes."""

from allreduce_bench.identifying.evidence import Answer
from allreduce_bench.identifying.launch import Findings
from allreduce_bench.tables import Screen
from allreduce_bench.which.effects import effect
from allreduce_bench.which.output import Result, result_lines
from allreduce_bench.which.settings import ENVIRONMENT, Setting

SIZES = (8, 65536)
NAMES = "coll_tuned_allreduce_algorithm", "coll_tuned_use_dynamic_rules"


def result(by_messages=True, switches=(), names=NAMES, bisects=True):
    ran = Answer(("ring", "segmented_ring"), True, by_messages, "4 blocks, rotated chains")
    found = Findings(dict.fromkeys(SIZES, ran), switches, "", {}, 4, 1, "float32", {})
    settings = [Setting(name, "4", "", ENVIRONMENT, "Open MPI") for name in names]
    seen = effect(dict.fromkeys(SIZES, ran.names), dict.fromkeys(SIZES, ("recursive_doubling",)))
    return Result("Open MPI 5.0.11", found, SIZES, settings, dict.fromkeys(names, seen), (), bisects)


def test_what_ran_stands_in_its_column_on_a_narrow_screen_too():
    lines, _ = result_lines(result(), Screen(80))
    head = next(line for line in lines if line.startswith("size"))
    assert head.split() == ["size", "evidence", "ran"] and max(map(len, lines)) <= 80
    assert "columns left out" in " ".join(lines) and "parts" not in " ".join(lines)
    wide, _ = result_lines(result(names=NAMES[:1]), Screen(200))
    assert any(line.split() == ["size", "evidence", "without", "it", "ran"] for line in wide)


def test_that_nothing_changes_is_said_with_what_is_not_seen():
    (said,) = result_lines(result())[1]
    assert "seen from 8 B to 64 KiB" in said
    (said,) = result_lines(result(by_messages=False))[1]
    assert "seen from 8 B to 64 KiB" in said
    assert result_lines(result(bisects=False))[1] == []
