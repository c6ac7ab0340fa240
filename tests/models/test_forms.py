"""Forms in words, and what stands before each of their parameters."""

import numpy as np
import pytest

from allreduce_bench.models.forms import Form, Meaning, crowded, matrix, meanings
from allreduce_bench.models.terms import PathMessage, Terms

TERMS = Terms((PathMessage(100.0, 3, False), PathMessage(5000.0, 2, True)), 700.0, True)


@pytest.mark.parametrize(
    ("form", "name"),
    [
        (Form(), "alpha-beta"),
        (Form(call=True, levels=2, knots=(8192.0,)), "call + two-level alpha-beta, knots at 8 KiB"),
        (Form(reduced=True, contention=True), "alpha-beta-gamma, p^contention"),
    ],
)
def test_a_form_in_words(form, name):
    assert form.name == name


def test_parameters_stand_in_the_order_of_the_columns():
    form = Form(call=True, levels=2, knots=(1000.0,), reduced=True)
    assert [meaning.link for meaning in meanings(form)] == ["", *4 * ["within"], *4 * ["between"], ""]
    assert meanings(Form()) == [Meaning("alpha_s", "", 0.0), Meaning("beta_s_per_byte", "", 0.0)]
    assert matrix(form, [TERMS, TERMS]).shape == (2, len(meanings(form)))


def test_messages_and_bytes_count_below_and_above_a_knot():
    assert matrix(Form(reduced=True), [TERMS]).tolist() == [[5, 300 + 10_000, 700]]
    assert matrix(Form(levels=2), [TERMS]).tolist() == [[3, 300, 2, 10_000]]
    assert matrix(Form(knots=(1000.0,)), [TERMS]).tolist() == [[5, 300 + 2000, 2, 2 * 4000]]


def test_contention_leaves_the_call_alone():
    form, columns = Form(call=True, contention=True), np.array([[1.0, 2.0, 3.0]])
    assert crowded(form, columns, np.log([4.0]), 0.5) == pytest.approx(np.array([[1.0, 4.0, 6.0]]))
