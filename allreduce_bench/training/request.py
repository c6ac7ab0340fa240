"""From the options of `workload` to the step that is modelled: which tensors, which packing, which costs."""

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from ..cli.predict import MOST_RANKS
from ..cli.types import OneLineError
from ..cli.work_limit import MOST_TIMES, refuse_above
from ..runs.dtypes import DTYPES
from ..units import unknown_word
from .cost_options import SourcedCosts, costs_of
from .group_options import divided_by, options_of_data, options_of_tensor

if TYPE_CHECKING:
    from .cost import Costs
    from .result import Result
    from .step import Setup
    from .tensors import Model

DEFAULT_RANKS = (2, 4, 8)
LEAST_CAP_NBYTES = 1024  # below, a unit was probably forgotten
PASSES = 3  # a backward pass has twice the operations of a forward pass
DDP_ONLY, HOROVOD_ONLY = ("bucket_cap", "first_cap", "torch"), ("fusion", "cycle")
TRANSFORMERS_ONLY = ("groups", "sequence")


def flop_rate(text: str) -> float:
    """FLOP/s of `15T`, `312TFLOPS`, `900G`. Raises ValueError."""
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)\s*([GTP])(?:flops?(?:/s)?)?", text.strip(), re.IGNORECASE)
    if not match or float(match[1]) == 0:
        raise ValueError(f"'{text}' is not a rate of operations; expected such as 900G, 15T or 1.2P (FLOP/s)")
    return float(match[1]) * {"G": 1e9, "T": 1e12, "P": 1e15}[match[2].upper()]


def scale_of(text: str) -> float:
    """0.015625 for `1/64` or `0.015625`. Raises ValueError: not above 0, or above 1."""
    match = re.fullmatch(r"\d{1,9}(?:\.\d{1,12}|/0*[1-9]\d{0,8})?", text.strip())
    scale = float(Fraction(text.strip())) if match else 0.0
    if not 0 < scale <= 1:
        raise ValueError(f"'{text}' is not a scale; expected more than 0 and at most 1, such as 1/64 or 0.1")
    return scale


def torch_version(text: str) -> tuple[int, int]:
    """(2, 3) for `2.3` or `2.3.1`. Raises ValueError, below 1.7, too, which does not rebuild buckets."""
    match = re.fullmatch(r"(\d{1,3})\.(\d{1,3})(?:\.\d+)?(?:\+\w+)?", text.strip())
    version = (int(match[1]), int(match[2])) if match else (0, 0)
    if version < (1, 7):
        raise ValueError(f"'{text}' is not a version; expected 1.7 or newer, such as 2.3")
    return version


class Request(NamedTuple):
    """What was asked for: options that were checked, and the model where there is one."""

    options: dict[str, Any]
    model: "Model | None"

    def setup(self) -> "Setup":
        """The step. Raises OneLineError where the time of its computation is unknown, or the groups do not fit."""
        from .step import Setup

        asked = self.options
        assert self.model is not None
        model, tensor = self.model.scaled(asked["scale"]), None
        if asked["groups"]:
            model, tensor = divided_by(asked, self.model)
        return Setup(
            model,
            self._compute_s() / (tensor.ranks if tensor and asked["flop_rate"] else 1),
            _packing(asked),
            asked["dtype"],
            asked["stage"],
            asked["backward"],
            asked["ready_by"],
            not asked["blocking"],
            asked["accumulate"],
            tensor,
        )

    def _compute_s(self) -> float:
        """Seconds of a forward and backward pass; 0: only the buckets are asked for."""
        assert self.model is not None
        compute_s, rate = self.options["compute"], self.options["flop_rate"]
        if rate is None:
            return compute_s or 0.0
        if not self.model.flops:
            raise OneLineError("--flop-rate: the operations of these shapes are unknown; use --compute 100ms")
        return PASSES * self.model.flops * self.options["batch"] / rate

    def result(self) -> "Result":
        """The steps on all numbers of ranks. Raises OneLineError, CostError, MachineError, LogError."""
        setup = self.setup() if self.model else None
        costs = costs_of(options_of_data(self.options))
        ranks = _ranks(self.options, costs.costs)
        return _of_model(self.options, setup, costs, ranks) if setup else _of_calls(self.options, costs, ranks)


def request_of(options: dict[str, Any], only_buckets: bool) -> Request:
    """The request. Raises OneLineError, ModelError: what is asked for is unclear, or contradicts itself."""
    from .tensors import DEFAULT_DTYPE

    given = [name for name in ("model", "shapes", "calls") if options[name] is not None]
    if len(given) != 1:
        from .architectures import ARCHITECTURES

        found, known = " and ".join(given) or "none", ", ".join(ARCHITECTURES)
        raise OneLineError(f"expected one of MODEL, --shapes FILE, --calls FILE, found {found}; models: {known}")
    if options["dtype"] not in DTYPES:
        raise OneLineError(f"--dtype: {unknown_word('dtype', options['dtype'], DTYPES)}")
    if options["calls"]:
        if only_buckets:
            raise OneLineError("--buckets: recorded calls have no buckets; leave out --calls")
        return Request(options, None)
    _refuse_packing(options)
    if options["shapes"] and (wrong := [name for name in TRANSFORMERS_ONLY if options[name] is not None]):
        raise OneLineError(f"--{wrong[0]}: a file of shapes does not tell its layers; leave it out, or name a MODEL")
    model = _model(options)
    if options["dtype"] != DEFAULT_DTYPE and options["dtype"] not in model.dtypes(options["dtype"]):
        known = f"{options['shapes']} has a type for each tensor ({', '.join(model.dtypes())})"
        raise OneLineError(f"--dtype {options['dtype']}: {known}; leave --dtype out, or the types of the file")
    if options["compute"] is not None and options["flop_rate"] is not None:
        raise OneLineError("--compute and --flop-rate have the same meaning; use only one of them")
    if options["compute"] is None and options["flop_rate"] is None and not only_buckets:
        raise OneLineError("the time of the computation is missing; add --compute 100ms or --flop-rate 15T")
    return Request(options, model)


def _model(options: dict[str, Any]) -> "Model":
    from .architectures import known_model
    from .shape_file import read_shapes

    if options["shapes"]:
        return read_shapes(options["shapes"])
    return known_model(options["model"], options["sequence"])


def _refuse_packing(options: dict[str, Any]) -> None:
    """Raises OneLineError for caps that hold nothing, and for options of the other framework."""
    for name in ("bucket_cap", "first_cap", "fusion"):
        nbytes, option = options[name], f"--{name.replace('_', '-')}"
        if nbytes == 0:
            raise OneLineError(f"{option} 0: a bucket holds at least one element; expected a size such as 25M")
        if nbytes is not None and nbytes < LEAST_CAP_NBYTES:
            raise OneLineError(f"{option} {nbytes}: {nbytes} bytes; is the unit missing, as in {nbytes}M?")
    others = HOROVOD_ONLY if options["framework"] == "ddp" else DDP_ONLY
    if wrong := [name for name in others if options[name] is not None]:
        raise OneLineError(f"--{wrong[0].replace('_', '-')} is not an option of --framework {options['framework']}")
    if options["cycle"] == 0:
        raise OneLineError("--cycle 0: a cycle takes time; expected such as 1ms")


def _packing(options: dict[str, Any]):
    """The rules of the framework; caps shrink with the scale."""
    from .buckets import NEWEST, Caps
    from .fusion import CYCLE_S, FUSION_NBYTES, Fusion

    scale = options["scale"]

    def scaled(nbytes: int) -> int:
        return max(1, int(nbytes * scale))

    if options["framework"] == "horovod":
        return Fusion(scaled(options["fusion"] or FUSION_NBYTES), options["cycle"] or CYCLE_S)
    caps = Caps(options["bucket_cap"], options["first_cap"], options["torch"] or NEWEST)
    first, cap = caps.limits
    return caps if scale == 1 else caps._replace(cap_nbytes=scaled(cap), first_nbytes=scaled(first))


def _ranks(options: dict[str, Any], costs: "Costs") -> tuple[int, ...]:
    from .cost import LoggedCosts

    measured = costs.ranks if isinstance(costs, LoggedCosts) else DEFAULT_RANKS
    ranks = tuple(options["ranks"] or measured)
    if ranks[-1] > MOST_RANKS:
        raise OneLineError(f"-n {ranks[-1]}: expected at most {MOST_RANKS} ranks")
    return ranks


def _of_model(asked: dict[str, Any], setup: "Setup", sourced: SourcedCosts, ranks: Sequence[int]) -> "Result":
    from .result import Result
    from .step import buckets_of, outcome, tried_caps, variants

    costs = sourced.costs
    work = len(buckets_of(setup)) * len(costs.algorithms) * len(ranks)
    refuse_above("workload", work, MOST_TIMES, "times of all-reduces", "reduce -n or --algorithms", asked["no_limit"])
    within = costs_of(options_of_tensor(asked)).costs if setup.tensor else None
    outcomes = tuple(outcome(setup, costs, number, within=within) for number in ranks)
    tried = tuple(variants(setup, costs, ranks[-1], tried_caps(setup), within)) if ranks[-1] > 1 else ()
    views, title = asked["views"], setup.model.label
    step = setup, tried, asked["batch"], asked["optimizer"], views
    return Result(title, sourced.source, sourced.network, outcomes, *step, sourced.grade, sourced.placement)


def _of_calls(options: dict[str, Any], sourced: SourcedCosts, ranks: Sequence[int]) -> "Result":
    """The recorded calls on each number of ranks."""
    from .call_file import read_calls, replayed
    from .cost import choose
    from .doubts import any_lower_bound, doubts_of
    from .result import Result
    from .step import Outcome

    calls = read_calls(options["calls"])
    alone_s = sum(call.gap_s for call in calls)
    outcomes = []
    for number in ranks:
        chosen = {nbytes: choose(sourced.costs, number, nbytes) for nbytes in {call.nbytes for call in calls}}
        line = replayed(calls, {nbytes: choice.time_s for nbytes, choice in chosen.items()}.__getitem__)
        names = tuple(sorted({choice.algorithm for choice in chosen.values()})) if number > 1 else ()
        named = tuple(one._replace(algorithm=chosen[one.nbytes].algorithm * (number > 1)) for one in line.transfers)
        doubts = doubts_of(sourced.costs, number, named)
        is_lower_bound = any_lower_bound(sourced.costs, number, named)
        outcomes.append(Outcome(number, line._replace(transfers=named), names, alone_s, doubts, is_lower_bound))
    title = f"{options['calls']}, {len(calls)} calls"
    result = Result(title, sourced.source, sourced.network, tuple(outcomes))
    return result._replace(grade=sourced.grade, placement=sourced.placement)
