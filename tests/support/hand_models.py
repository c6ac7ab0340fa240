"""Models made by hand, as a fit of runs of `made_runs` could give them."""

from collections.abc import Sequence

from made_runs import ALPHA_S, BETA_S_PER_BYTE

from allreduce_bench.models.forms import Form
from allreduce_bench.models.model import Errors, Model, ModelPart, Parameter

SEGMENT = 32768  # elements: the default of 128 KiB


def hand_model(name: str, ranks: Sequence[int] = (2, 4), factor: float = 1.0, priced_as: str = "", **fields) -> Model:
    """The model of `name` with `factor` times the prices of `made_runs`; its beta is not identified."""
    alpha_s, beta_s = factor * ALPHA_S, factor * BETA_S_PER_BYTE
    alpha = Parameter("alpha_s", "", 0.0, alpha_s, 0.9 * alpha_s, 1.1 * alpha_s, True)
    beta = Parameter("beta_s_per_byte", "", 0.0, beta_s, 0.8 * beta_s, 1.3 * beta_s, True)
    errors = {"in_sample": Errors(0.031, 0.104, 20), "leave_one_p_out": Errors(0.052, 0.21, 20, 0.85)}
    usual = {"dtype": "float32", "op": "sum", "itemsize": 4}
    usual |= {"ranks": tuple(ranks), "size_bytes": (8, 1 << 22), "launches": 3, "errors": errors}
    usual |= {"reach_log": 0.15, "reach_log_per_doubling": 0.1, "segment": SEGMENT if name == "two_tree" else None}
    usual |= {"plain_errors": {"in_sample": Errors(0.2, 0.5, 20)}}
    usual |= {"parts": (ModelPart(priced_as or name, Form(), (alpha, beta)),)}
    return Model(name, **(usual | fields))


def hand_models(names: Sequence[str], ranks: Sequence[int] = (2, 4)) -> list[Model]:
    """The models of all of `names`; native is priced as recursive doubling."""
    return [hand_model(name, ranks, priced_as="recursive_doubling" if name == "native" else "") for name in names]
