"""A run and its models, of which the tests of all figures draw."""

import pytest
from hand_models import hand_models
from made_runs import build_run

from allreduce_bench.evaluation.summary import summary

ALGORITHMS = ("native", "ring", "two_tree", "recursive_doubling")
SIZES = (8, 1024, 65536, 1 << 20)
RANKS = (2, 4, 8)


def factor(launch, cell):
    """Ring thrice as fast at 1 MiB; native and recursive doubling are equal at 8 B."""
    return 0.33 if cell.algorithm == "ring" and cell.size_bytes == 1 << 20 else 1.0


def unmeasured(launch, cell):
    """At 8 ranks only ring got as far as 1 MiB."""
    return None if launch.ranks == 8 and cell.size_bytes == 1 << 20 and cell.algorithm != "ring" else {}


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    fields = {"algorithms": ALGORITHMS, "sizes": SIZES, "ranks": RANKS, "launches": 5}
    return summary([build_run(folder, **fields, factor=factor, outcome=unmeasured)])


@pytest.fixture(scope="module")
def models():
    return hand_models(ALGORITHMS, RANKS)
