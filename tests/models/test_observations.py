"""The quick matrix of many cells is that of the forms."""

import pytest
from made_models import observed, series

from allreduce_bench.models.forms import Form, matrix

FORMS = [
    Form(),
    Form(call=True),
    Form(knots=(1000.0,)),
    Form(call=True, knots=(100.0, 1e5)),
    Form(levels=2),
    Form(levels=2, knots=(5000.0,), reduced=True),
]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_the_quick_matrix_is_that_of_the_forms(form):
    seen = observed("rabenseifner", series("rabenseifner", (4, 6, 16), ranks_per_node=2))
    columns = seen.paths["rabenseifner"]
    assert columns.matrix(form) == pytest.approx(matrix(form, columns.terms))
