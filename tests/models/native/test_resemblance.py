"""Native made of known algorithms at another overhead, with noise: recognised where times can tell."""

import random

import pytest
from has_message import message_pattern

from allreduce_bench.algorithms import builtin
from allreduce_bench.message import say
from allreduce_bench.models.resemblance import NoResemblance, Resemblance, resemblance_sentences, resemblances_of
from allreduce_bench.models.terms import terms

SIZES = tuple(8 * 4**i for i in range(11))  # 8 B to 8 MiB
OURS = ("ring", "recursive_doubling", "rabenseifner", "two_tree")
SWITCH = 10_000


def time_of(name, ranks, nbytes, alpha_s, beta_s, call_s):
    segment = 32768 if builtin()[name].segmented else None
    path = terms(builtin()[name], ranks, 1, nbytes, 4, segment).messages
    return call_s + sum(one.number * (alpha_s + beta_s * one.nbytes) for one in path)


def row(algorithm, executor, ranks, nbytes, time_s, drawn, noise):
    medians = {str(launch): time_s * drawn.lognormvariate(0, noise) for launch in range(3)}
    key = {
        "algorithm": algorithm,
        "executor": executor,
        "ranks": ranks,
        "nodes": 1,
        "nbytes": nbytes,
        "count": nbytes // 4,
        "groups": "",
    }
    segment = 32768 if executor == "sendrecv" and builtin()[algorithm].segmented else None
    return {
        **key,
        "cache": "warm",
        "segment": segment,
        "launch_medians": medians,
        "time_s": sorted(medians.values())[1],
    }


def measured(native, ranks, ours=OURS, noise=0.05, seed=1, overhead=6.0):
    """Rows of a run whose native takes what `native(nbytes)` says, `overhead` times cheaper a message than ours."""
    drawn, rows = random.Random(seed), []
    for p in ranks:
        for nbytes in SIZES:
            price = (2e-6, 1e-10, 3e-7)
            rows.append(row("native", "native", p, nbytes, time_of(native(nbytes), p, nbytes, *price), drawn, noise))
            for name in ours:
                time_s = time_of(name, p, nbytes, overhead * 2e-6, 1.5e-10, 4e-6)
                rows.append(row(name, "sendrecv", p, nbytes, time_s, drawn, noise))
    return rows


def switching(nbytes):
    return "recursive_doubling" if nbytes < SWITCH else "ring"


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_library_that_switches_is_recognised(seed):
    found = resemblances_of(measured(switching, (2, 4, 8, 16), seed=seed))
    assert [(one.ranks, one.nbytes) for one in found] == [(p, nbytes) for p in (2, 4, 8, 16) for nbytes in SIZES]
    named = [one for one in found if one.names]
    assert len(named) >= 0.8 * len(found)
    right = [switching(one.nbytes) in one.names for one in named]
    assert sum(right) >= 0.95 * len(named)
    ring = [one for one in found if one.nbytes >= 1 << 17 and one.ranks > 2]
    assert all(one.names == ("ring",) for one in ring)
    small = [one for one in found if one.nbytes <= 2048]
    assert all("recursive_doubling" in one.names and "ring" not in one.names for one in small)


def test_what_costs_alike_is_named_together():
    """A few bytes: Rabenseifner's messages are twice those of recursive doubling at any number of ranks."""
    found = resemblances_of(measured(lambda nbytes: "recursive_doubling", (4, 8, 16)))
    first = found[0].probability
    assert first["rabenseifner"] > 0.05 and first["ring"] < 0.05
    assert sum(first.values()) == pytest.approx(1)


@pytest.mark.parametrize("name", OURS)
def test_each_algorithm_resembles_itself(name):
    found = resemblances_of(measured(lambda nbytes: name, (2, 4, 8, 16), noise=0.03))
    large = [one for one in found if one.nbytes >= 1 << 17 and one.ranks >= 4]
    assert sum(name in one.names for one in large) >= 0.9 * len(large)
    assert not any(one.names and name not in one.names for one in large)


def test_noise_makes_it_say_less():
    def told(noise):
        return sum(len(one.names) == 1 for one in resemblances_of(measured(switching, (2, 4), noise=noise)))

    assert told(0.6) < told(0.02)
    loud = resemblances_of(measured(switching, (2, 4), noise=0.6))
    assert all(one.stray > 0.2 for one in loud)


def test_what_no_candidate_explains_is_not_told():
    rows = measured(switching, (2, 4, 8, 16), ours=("two_tree", "ring"))
    drawn = random.Random(3)
    for one in rows:
        if one["executor"] == "native":
            one["time_s"] = drawn.uniform(1e-6, 1e-3)
            one["launch_medians"] = {str(i): one["time_s"] for i in range(3)}
    found = resemblances_of(rows)
    assert all(one.stray > 0.3 for one in found)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (measured(switching, (4,)), message_pattern("models.native_measured_number_ranks")),
        (measured(switching, (2, 4), ours=("ring",)), message_pattern("models.fewer_two_algorithms_known")),
        ([one for one in measured(switching, (2, 4)) if one["executor"] != "native"], "not measured"),
        ([one for one in measured(switching, (2, 4)) if one["nbytes"] < 100], "fewer than 3 sizes"),
        ([], "not measured"),
    ],
)
def test_says_what_is_lacking(rows, words):
    with pytest.raises(NoResemblance, match=words):
        resemblances_of(rows)


def test_in_words():
    sure = Resemblance(4, 8, {"ring": 0.97, "rabenseifner": 0.03, "tree": 0.0, "two_tree": 0.0}, 0.05)
    both = sure._replace(nbytes=64, probability={"ring": 0.5, "rabenseifner": 0.45, "tree": 0.05, "two_tree": 0.0})
    none = sure._replace(nbytes=512, probability={"ring": 0.5, "rabenseifner": 0.5})
    assert sure.words == "ring (97 %)"
    assert both.words == "ring or rabenseifner (50 %, 45 %)"
    assert none.words == "unknown" and none.names == ()
    (sentence,) = resemblance_sentences([sure, sure._replace(nbytes=16), both, none])
    known, unknown = sentence.split("; ")
    who, _, resembled = known.partition(" resembles ")
    assert who == "On 4 ranks native most"
    assert resembled == f"ring from 8 B to 16 B, {' or '.join(both.names)} at 64 B"
    assert unknown == say("models.algorithm_unknown", unnamed="at 512 B.")
    assert resemblance_sentences([none, none._replace(nbytes=1024), none._replace(ranks=8)]) == [
        ("On 4, 8 ranks " + say("models.algorithm_unknown", unnamed="at any size."))
    ]


def test_launches_in_two_states_resemble_nothing():
    rows = measured(switching, (2, 4, 8))
    undecided = [row | {"launch_states": "two"} if row["nbytes"] > SWITCH else row for row in rows]
    assert {one.nbytes for one in resemblances_of(undecided)} == {nbytes for nbytes in SIZES if nbytes <= SWITCH}
