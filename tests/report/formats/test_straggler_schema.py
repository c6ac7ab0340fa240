"""The schema of `stragglers --format json`."""

from allreduce_bench.lateness.stragglers import Suspect
from allreduce_bench.report.formats.straggler_schema import SILENCES, SUSPECT
from allreduce_bench.report.straggler_silence import SILENCE


def test_every_code_is_in_it():
    assert set(SILENCES) == set(SILENCE)
    assert set(SUSPECT["properties"]) == {"name", *Suspect._fields}
    assert SUSPECT["properties"]["kind"]["enum"] == ["rank", "node", "group"]
