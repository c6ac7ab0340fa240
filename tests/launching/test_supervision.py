"""How the end of a launcher is said; whole launches that end badly are in `watching/test_hang`."""

import pytest

from allreduce_bench.launching.supervision import how_it_ended


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (-9, "was killed by SIGKILL"),
        (143, "was killed by SIGTERM"),
        (3, "ended with status 3"),
        (255, "ended with status 255"),
    ],
)
def test_a_status_is_said_in_words(status, says):
    assert how_it_ended(status) == says
