"""JUnit XML: slower is a failure, who is not judged is skipped, and whatever a name holds is XML."""

from xml.etree import ElementTree

from compared_runs import FASTER, compared_run, row

from allreduce_bench.comparison.formats import junit
from allreduce_bench.comparison.judgement import compare

ABSENT = "not planned"  # by a side


def test_undecided_cells_are_failures_where_they_fail_the_gate():
    sides = [
        compared_run(name, row(times), row(times[:1], size_bytes=64))
        for name, times in (("base", FASTER), ("new", (1.003e-6, 1.01e-6, 0.99e-6, 1e-6)))
    ]
    for undecided, kind in (("warn", "skipped"), ("pass", "skipped"), ("fail", "failure")):
        comparison = compare(sides[:1], sides[1:], 0.5, undecided=undecided)
        suite = ElementTree.fromstring(junit(comparison))[0]
        assert [case[0].tag for case in suite.findall("testcase")] == ["system-out", kind]
        assert (suite.get("failures"), suite.get("skipped")) == (("1", "0") if kind == "failure" else ("0", "1"))
        assert (comparison.warning in suite.find("system-out").text) and bool(comparison.warning) == (
            undecided == "warn"
        )


def test_a_gate_that_saw_nothing_is_red():
    nothing = compare([compared_run("base", row())], [compared_run("new", row())], 0.05)
    suite = ElementTree.fromstring(junit(nothing))[0]
    assert suite.get("failures") == "1" and suite.findall("testcase")[-1][0].get("message") == nothing.failure
