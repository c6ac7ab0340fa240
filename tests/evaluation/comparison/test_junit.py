"""JUnit XML: slower is a failure, who is not judged is skipped, and whatever a name holds is XML."""

from xml.etree import ElementTree

from compared_runs import FASTER, SLOWER, compared_run, row

from allreduce_bench.evaluation.comparison.judgement import compare
from allreduce_bench.evaluation.comparison.junit import junit


def test_cases_counts_and_reasons():
    base = compared_run("b\x00<se", row(FASTER), row(FASTER, nbytes=64, count=16))
    suite = ElementTree.fromstring(junit(compare([base], [compared_run("new", row(SLOWER))], 0.05)))[0]
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["2", "1", "0", "1"]
    slower, unjudged = suite.findall("testcase")
    assert (slower.get("classname"), slower.get("name")) == ("allreduce.ring", "ring 8 B, 2 ranks")
    assert slower[0].get("type") == "slower" and float(slower.get("time")) > 1e-6
    assert unjudged.get("name") == "ring 64 B, 2 ranks (new: not planned)"
    assert unjudged[0].tag == "skipped" and unjudged[0].get("message") == "only in the baseline"
    assert suite.find("properties")[0].get("value") == "b\ufffd<se"
