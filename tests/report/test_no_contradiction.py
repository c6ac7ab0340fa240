"""No two statements about a pair of algorithms contradict each other: over made machine files, and tables of times."""

from itertools import groupby
from typing import NamedTuple

import numpy as np
from drawn_tables import SCENARIOS, Setting, drawn_table
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from allreduce_bench.evaluation.summary import judge_rows
from allreduce_bench.evaluation.verdict import EQUAL, FASTEST, SLOWER, Verdict, verdicts
from allreduce_bench.models.crossings import Crossing, winner_map
from allreduce_bench.models.forms import Form
from allreduce_bench.models.machine import Machine
from allreduce_bench.models.model import Model, ModelPart, Parameter, SizeTime
from allreduce_bench.models.prediction import competing_models
from allreduce_bench.models.rivals import rival_comparisons
from allreduce_bench.report.forecast import Forecast, as_tables, crossings_of, rows

NAMES = ("ring", "recursive_doubling", "rabenseifner", "two_tree")
SIZES = (8, 1 << 10, 3 << 12, 1 << 16, 5 << 18, 1 << 24)
COUNTS = (3, 4, 6, 8, 16, 21, 32)


@st.composite
def models(draw, name: str, counts: tuple[int, ...], kept_to: int) -> Model:
    """A model of `name` with any prices, intervals, sizes and unidentified parameters, and times at the most ranks."""
    prices = []
    for kind, least in (("alpha_s", 1e-6), ("beta_s_per_byte", 1e-10)):
        value, identified = least * draw(st.floats(1, 30)), draw(st.integers(0, 5)) > 0
        ends = (0.8 * value, 1.25 * value) if identified else (None, 2 * value)
        prices.append(Parameter(kind, "", 0.0, value, *ends, identified))
    return Model(
        name,
        (ModelPart(name, Form(), tuple(prices)),),
        run="monday",
        itemsize=4,
        segment=1 << 12 if name == "two_tree" else None,
        ranks=counts,
        at_most_ranks=tuple(SizeTime(size_bytes, draw(st.floats(1e-6, 1e-3))) for size_bytes in (8, 1 << 12, 1 << 24)),
        winner_kept_to=kept_to,
        size_bytes=draw(st.sampled_from(((8, 1 << 24), (8, 1 << 12), (1 << 14, 1 << 24)))),
        reach_log=draw(st.one_of(st.none(), st.floats(0.01, 0.6))),
        reach_log_per_doubling=0.05,
    )


@st.composite
def forecasts(draw) -> Forecast:
    """Predictions of two to four made models, at some ranks and sizes."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=2, max_size=4, unique=True))
    measured, kept_to = draw(st.sampled_from((((2, 4, 8), 0), ((2, 4, 8), 16), ((3, 6), 12), ((3, 6), 24))))
    machine = Machine(tuple(draw(models(name, measured, kept_to)) for name in names))
    counts = sorted(draw(st.sets(st.sampled_from(COUNTS), min_size=2, max_size=4)))
    return Forecast(machine, "made", competing_models(machine), counts, SIZES)


class Said(NamedTuple):
    """What a forecast says at a place: its rows, and the name in the map."""

    fastest: list[str]
    equal: list[str]
    least: float | None
    named: str

    @property
    def name(self) -> str:
        return self.named.removesuffix(" =")


def said(forecast: Forecast) -> dict[tuple[int, int], Said]:
    """What the table, CSV and the map say, by ranks and size."""
    (group,), of_place = forecast.groups, {}
    in_map = iter(name for line in winner_map(group, forecast.ranks, forecast.sizes) for name in line)
    for place, cells in groupby(rows(forecast), lambda row: (row["ranks"], row["size_bytes"])):
        at = list(cells)
        fastest, equal = ([row["competitor"] for row in at if row[mark]] for mark in ("fastest", "equal"))
        assert not any(row["unidentified"] for row in at if row["fastest"] and not row["kept_from_ranks"])
        of_place[place] = Said(fastest, equal, min((row["time_s"] for row in at if row["time_s"]), default=None), "")
    return {place: one._replace(named=next(in_map) or "") for place, one in of_place.items()}


def check_place(forecast: Forecast, place: tuple[int, int], one: Said) -> None:
    """One is the fastest, or several are equal, or nothing is said, which is so where a series is refused."""
    (group,) = forecast.groups
    assert len(one.fastest) + bool(one.equal) <= 1 and len(one.equal) != 1
    assert one.named == (one.fastest or [f"{one.name} =" if one.equal else ""])[0]
    assert not one.equal or one.name in one.equal
    if one.named:
        is_kept = group.keeps_winner(place[0])
        assert is_kept or group.at(one.name, *place).prediction.time_s <= one.least * (1 + 1e-6)
        assert not any(group.at(name, *place).too_far for name in group.models)


def check_crossing(one: Crossing, place: tuple[int, int], at: Said) -> None:
    """Where it holds and the order is not open, the faster one has the least time, and the slower does not equal it."""
    moving, fixed = place if one.over == "ranks" else place[::-1]
    is_aside = one.over == "ranks" and one.no_powers and not place[0] & (place[0] - 1)
    is_open = one.open_from is not None and one.open_from <= moving <= one.open_to
    if not one.at <= fixed <= one.last or is_aside or is_open:
        return
    if one.above < moving and (one.until is None or moving <= one.until):
        assert at.name == one.faster and one.slower not in at.equal, one.sentence
    if moving == one.above:
        assert at.name == one.slower and one.faster not in at.equal, one.sentence


@settings(max_examples=35, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(forecasts())
def test_no_two_statements_contradict_each_other(forecast):
    of_place, text = said(forecast), as_tables(forecast)
    for place, at in of_place.items():
        check_place(forecast, place, at)
    for one in crossings_of(forecast, forecast.groups[0]):
        assert one.sentence in text
        for place, at in of_place.items():
            if isinstance(one, Crossing):
                check_crossing(one, place, at)
            elif one.first <= place[0] <= one.final and one.at <= place[1] <= one.last:
                assert place[0] & (place[0] - 1) or at.fastest == [one.fastest], one.sentence


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
def test_marks_verdicts_and_comparisons_with_native_do_not_contradict_each_other(seed, scenario):
    table = drawn_table(np.random.default_rng(seed), Setting(scenario, calls=20)).rows
    for row in table:
        if row["competitor"] == "a0":
            row["competitor"] = "native"
    table = judge_rows(table)
    standing = {(row["size_bytes"], row["competitor"]): row["standing"] for row in table}
    for verdict in verdicts(table):
        check_verdict(verdict, standing)
    for one in rival_comparisons(table):
        if one.slower:
            assert standing[one.size_bytes, "native"] != FASTEST
            assert {standing[one.size_bytes, "native"], standing[one.size_bytes, one.against]} != {EQUAL}
