"""Models made by hand, as a fit of runs of `made_runs` could give them."""

from collections.abc import Sequence
from dataclasses import replace

from made_runs import ALPHA_S, BETA_S_PER_BYTE, SIZES

from allreduce_bench.models.alpha_beta import ALPHA, BETA, Parameter
from allreduce_bench.models.intervals import HeldOut
from allreduce_bench.models.model import MeasuredCell, Model

SEGMENT = 32768  # elements: the default of 128 KiB


def hand_model(
    name: str,
    ranks: Sequence[int] = (2, 4),
    factor: float = 1.0,
    priced_as: str = "",
    prices: tuple[float, float] = (ALPHA_S, BETA_S_PER_BYTE),
    sizes: Sequence[int] = SIZES,
    **fields,
) -> Model:
    """The model of `name` with `factor` times `prices`, by default of `made_runs`; its times are those it prices."""
    alpha_s, beta_s = (factor * price for price in prices)
    alpha = Parameter(ALPHA, "", alpha_s, 0.9 * alpha_s, 1.1 * alpha_s)
    beta = Parameter(BETA, "", beta_s, 0.8 * beta_s, 1.3 * beta_s)
    usual = {"dtype": "float32", "op": "sum", "itemsize": 4, "launches": 3, "held_out": HeldOut(0.052, 0.21, 5)}
    usual |= {"segment": SEGMENT if name == "two_tree" else None}
    model = Model(name, priced_as or name, (alpha, beta), **(usual | fields))
    per_node = model.ranks_per_node
    nodes = {p: int(p / per_node) if per_node else 0 for p in ranks}
    cells = [
        MeasuredCell(p, nodes[p], n, model.price_s(p, nodes[p] or None, n, model.segment)) for p in ranks for n in sizes
    ]
    return replace(model, cells=tuple(cells))


def hand_models(names: Sequence[str], ranks: Sequence[int] = (2, 4)) -> list[Model]:
    """The models of all of `names`; native is priced as recursive doubling."""
    return [hand_model(name, ranks, priced_as="recursive_doubling" if name == "native" else "") for name in names]
