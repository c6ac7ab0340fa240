"""Lines end where native changes its algorithm."""

import pandas as pd
from made_runs import identified

from allreduce_bench.report.unbroken import add_algorithms_at_work, find_breaks, is_broken

SIZES = (8, 64, 512, 4096)
NAMES = {8: ("tree",), 64: ("tree", "recursive_doubling"), 512: (), 4096: ("ring",)}


def frame(algorithm: str, **names) -> pd.DataFrame:
    rows = pd.DataFrame({"competitor": algorithm, "ranks": 4, "size_bytes": SIZES})
    known = NAMES | {int(size.strip("_")): value for size, value in names.items()}
    return add_algorithms_at_work(rows, {4: identified(4, {("native", size): known[size] for size in SIZES})})


def test_a_line_ends_where_another_algorithm_is_at_work():
    assert find_breaks(frame("native", _512=("ring",))) == [2]
    assert is_broken(frame("native", _512=("ring",))) and is_broken(frame("native@compiled", _512=("ring",)))


def test_what_is_unknown_breaks_no_line():
    assert find_breaks(frame("native")) == []
    assert not is_broken(frame("ring", _512=("ring",)))  # it is itself at all sizes
    assert find_breaks(pd.DataFrame({"size_bytes": SIZES})) == []
