"""The schema of `stragglers --format json`."""

from allreduce_bench.stragglers.document import SILENCES, SUSPECT
from allreduce_bench.stragglers.sentences import SILENCE
from allreduce_bench.stragglers.verdict import Suspect


def test_every_code_is_in_it():
    assert set(SILENCES) == set(SILENCE)
    assert set(SUSPECT["properties"]) == {"name", *Suspect._fields}
    assert SUSPECT["properties"]["kind"]["enum"] == ["rank", "node", "group"]
