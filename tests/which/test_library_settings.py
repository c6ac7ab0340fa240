"""MPI_T and counted messages of the loaded libraries, one launch for each."""

import json
from functools import cache

import pytest
from interpreters import interpreters
from rank_programs import mpirun

from allreduce_bench.identifying.counting import MONITORING

RANKS, ELEMENTS = 4, 1024


@cache
def said(python):
    """What the ranks of an interpreter's MPI print."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in MONITORING.items():
            patch.setenv(name, value)
        status, words = mpirun(python, RANKS, "library_settings.py")
    assert status == 0, words
    return json.loads(next(line for line in words.splitlines() if line.startswith("{")))


NOT_COUNTED = "not counted"  # as `ranks/library_settings.py` says it

every_mpi = pytest.mark.parametrize("python", interpreters())


@every_mpi
def test_a_forced_algorithm_acts_within_and_is_taken_back(python):
    found = said(python)
    assert found["inside"] == [[ELEMENTS // RANKS] * (RANKS - 1)] * RANKS != found["before"] == found["after"]
    known, value, meaning = found["read_inside"]
    assert (known, meaning) == (True, "ring")
    assert found["read_after"] == found["read_at_end"] != [known, value, meaning]


@every_mpi
def test_a_variable_that_is_not_there_is_not_read(python):
    found = said(python)
    assert list(found["read"].values()) == [found["read_after"], [False, None, ""]]


@every_mpi
def test_the_thread_level_of_mpi_stays(python):
    before, after = said(python)["thread_levels"]
    assert before == after > 0, "mpi4py asks for a level above single"


@every_mpi
def test_all_ranks_refuse_what_one_of_them_cannot_set(python):
    found = said(python)
    text = {"Open MPI": "", "MPICH": "where it may have no effect"}[found["library"]]
    expected = {
        "text": text,
        "absent": "no variable",
        "no number": "found 'rings'",
        "no meaning": "found 99",
        "differs": "rank 2: ",
    }
    for name, words in expected.items():
        assert len(found["errors"][name]) == RANKS
        assert all(words in said if words else not said for said in found["errors"][name])


@every_mpi
def test_messages_of_a_call_where_the_library_counts(python):
    found = said(python)
    if found["library"] != "Open MPI":
        assert found["sent"] == found["counted"] == [NOT_COUNTED] * RANKS
        return
    rounds, size_bytes = 2 * (RANKS - 1), 4 * ELEMENTS // RANKS
    for rank, (messages, sent_nbytes) in enumerate(found["sent"]):
        to = [int(other == (rank + 1) % RANKS) for other in range(RANKS)]
        assert messages == [rounds * one for one in to]
        assert sent_nbytes == [rounds * size_bytes * one for one in to]
    assert found["counted"] != found["sent"]


def test_not_counted_where_monitoring_did_not_load(on_ranks):
    assert on_ranks(3, "library_settings.sent") == [NOT_COUNTED] * 3
