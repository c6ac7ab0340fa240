"""No two statements about a pair of algorithms contradict each other: over made machine files, and tables of times."""

from dataclasses import replace
from itertools import groupby

import numpy as np
from drawn_tables import SCENARIOS, Setting, drawn_table
from hand_models import hand_model
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from allreduce_bench.evaluation.summary import judge_rows
from allreduce_bench.evaluation.verdict import FASTEST, SLOWER, Verdict, verdicts
from allreduce_bench.models.crossings import Crossing, winner_map
from allreduce_bench.models.machine import Machine, bare_machine
from allreduce_bench.models.prediction import competing_models
from allreduce_bench.report.forecast import Forecast, as_text, crossings_of, rows

NAMES = ("ring", "recursive_doubling", "rabenseifner", "two_tree")
SIZES = (8, 1 << 10, 3 << 12, 1 << 16, 5 << 18, 1 << 24)
COUNTS = (3, 4, 6, 8, 16, 21, 32)


@st.composite
def fitted(draw) -> Machine:
    """Models of two to four algorithms with any prices, and times that stray from them."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=2, max_size=4, unique=True))
    models = []
    for name in names:
        prices = 1e-6 * draw(st.floats(1, 30)), 1e-10 * draw(st.floats(1, 30))
        model = hand_model(name, draw(st.sampled_from(((2, 4, 8), (3, 6)))), prices=prices, sizes=(8, 1 << 12, 1 << 22))
        strays = draw(st.lists(st.floats(0.3, 3), min_size=len(model.cells), max_size=len(model.cells)))
        cells = (cell._replace(time_s=cell.time_s * stray) for cell, stray in zip(model.cells, strays))
        models.append(replace(model, cells=tuple(cells)))
    return Machine(tuple(models))


@st.composite
def given_prices(draw) -> Machine:
    """Four algorithms at any prices."""
    bare = bare_machine(1e-6 * draw(st.floats(1, 30)), 1e-10 * draw(st.floats(1, 30)))
    return replace(bare, models=tuple(model for model in bare.models if model.algorithm in NAMES))


@st.composite
def forecasts(draw) -> Forecast:
    """Predictions of machines of both kinds, at some ranks and sizes."""
    machine = draw(st.one_of(fitted(), given_prices()))
    counts = sorted(draw(st.sets(st.sampled_from(COUNTS), min_size=2, max_size=4)))
    return Forecast(machine, "made", competing_models(machine), counts, SIZES)


def said(forecast: Forecast) -> dict[tuple[int, int], str]:
    """The fastest by ranks and size, as the rows, the map and the table say it; empty: unknown."""
    (group,), of_place = forecast.groups, {}
    in_map = iter(name for line in winner_map(group, forecast.ranks, forecast.sizes) for name in line)
    for place, cells in groupby(rows(forecast), lambda row: (row["ranks"], row["size_bytes"])):
        found = [(row["competitor"], row["by_prediction"]) for row in cells if row["fastest"]]
        name, is_unsure = found[0] if found else ("", False)
        assert len(found) <= 1 and (next(in_map) or "") == name + " ?" * is_unsure
        of_place[place] = name
    return of_place


def check_crossing(one: Crossing, place: tuple[int, int], fastest: str) -> None:
    """Where it holds the faster one is the fastest; just below, the slower one was."""
    moving, fixed = place if one.over == "ranks" else place[::-1]
    is_aside = one.over == "ranks" and not place[0] & (place[0] - 1)
    if fixed != one.at or is_aside:
        return
    if one.above < moving and (one.until is None or moving <= one.until):
        assert fastest == one.faster, one.sentence
    if moving == one.above:
        assert fastest == one.slower, one.sentence


@settings(max_examples=35, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(forecasts())
def test_no_two_statements_contradict_each_other(forecast):
    of_place, text = said(forecast), as_text(forecast, is_verbose=True)
    for one in crossings_of(forecast, forecast.groups[0]):
        assert one.sentence in text
        for place, fastest in of_place.items():
            check_crossing(one, place, fastest)


def check_verdict(verdict: Verdict, standing: dict[tuple[int, str], str]) -> None:
    """No cell within a stretch has another winner, or a slower leader; crossovers lie where both sides are shown."""
    winner = {size_bytes: name for (size_bytes, name), one in standing.items() if one == FASTEST}
    for stretch in (one for one in verdict.stretches if one.is_won):
        for size_bytes, _ in standing:
            if stretch.low <= size_bytes <= stretch.high and size_bytes not in stretch.exceptions:
                assert winner.get(size_bytes, stretch.leaders[0]) == stretch.leaders[0]
                assert standing[size_bytes, stretch.leaders[0]] != SLOWER
    for over in filter(None, verdict.hand_overs):
        assert over.low <= over.size_bytes <= over.high
        assert standing[over.low, over.before] != SLOWER and standing[over.high, over.after] != SLOWER


@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 20), st.sampled_from(list(SCENARIOS)))
def test_marks_and_verdicts_do_not_contradict_each_other(seed, scenario):
    table = drawn_table(np.random.default_rng(seed), Setting(scenario, calls=20)).rows
    for row in table:
        if row["competitor"] == "a0":
            row["competitor"] = "native"
    table = judge_rows(table)
    standing = {(row["size_bytes"], row["competitor"]): row["standing"] for row in table}
    for verdict in verdicts(table):
        check_verdict(verdict, standing)
