"""The options of `workload` turned into the modelled step: tensors, packing, costs, groups.

Options without effect beside others are refused: whoever gives one expects an effect.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ..cli.predict import MOST_RANKS, machine_of_file, machine_of_prices, shared_port
from ..cli.types import OneLineError, tell_damages, told_warnings
from ..importers import read, refuse_mixed
from ..message import say
from ..report.forecast import port_in_words
from ..runs.cell import competitor_name
from ..runs.dtypes import DTYPES
from ..runs.folder import RunFolder
from ..runs.groups import Groups, groups_of
from ..units import format_rate, format_size, unknown_word
from .architectures import ARCHITECTURES, known_model
from .buckets import CYCLE_S, FUSION_NBYTES, NEWEST, Caps, Fusion
from .cost import Costs, LoggedCosts, Timed, any_lower_bound, choose, doubts_of, modelled_costs
from .input_files import read_calls, read_shapes, replayed
from .result import Result
from .step import Divided, Outcome, Setup, divide, outcome, tried_caps, variants
from .tensors import DEFAULT_DTYPE, Model

# Defaults and limits
DEFAULT_RANKS = (2, 4, 8)
LEAST_CAP_NBYTES = 1024  # below, a unit was probably forgotten
COMPUTATION_OF_PASSES = 3  # over that of a forward pass: a backward pass has twice as many operations

# Options that need others
MEASURING_OPTIONS = ("work", "overlap", "executor", "steps")
COST_OPTIONS = (
    *("alpha", "bandwidth", "gamma", "alpha_within", "bandwidth_within", "machine", "extrapolate", "logs"),
    "nic_bandwidth",
)
STEP_OPTIONS = (
    *("compute", "flop_rate", "backward", "ready_by", "batch", "accumulate", "scale", "sequence", "groups"),
    *("optimizer", "views", "blocking", "overlap"),
)
PACKING_OPTIONS = ("framework", "stage", "bucket_cap", "first_cap", "torch", "fusion", "cycle")
DDP_OPTIONS = ("stage", "views")
DDP_PACKING_OPTIONS, HOROVOD_PACKING_OPTIONS = ("bucket_cap", "first_cap", "torch"), ("fusion", "cycle")
TRANSFORMER_OPTIONS = ("groups", "sequence")

# Options whose names differ from their parameters'
OTHER_NAMES = {"logs": "log"}


class SourcedCosts(NamedTuple):
    """The costs of all-reduces and their source: a sentence, and a phrase.

    `grade` and `placement` of the times that models were fitted to; None: no models of measured times.
    """

    costs: Costs
    source: str
    network: str
    grade: str | None = None
    placement: str | None = None


class Request(NamedTuple):
    """Checked options, and the model if there is one."""

    options: dict[str, Any]
    model: Model | None

    def setup(self) -> Setup:
        """Return the step. Raises OneLineError if the time of its computation is unknown, or the groups do not fit."""
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
        """Return the seconds of a forward and backward pass; 0: only the buckets are requested."""
        assert self.model is not None
        compute_s, rate = self.options["compute"], self.options["flop_rate"]
        if rate is None:
            return compute_s or 0.0
        if not self.model.flops:
            raise OneLineError("training.flop_rate_operations_shapes")
        return COMPUTATION_OF_PASSES * self.model.flops * self.options["batch"] / rate

    def result(self) -> Result:
        """Return the steps on all numbers of ranks. Raises OneLineError, CostError, MachineError, LogError."""
        setup = self.setup() if self.model else None
        costs = costs_of(options_of_data(self.options))
        ranks = _ranks(self.options, costs.costs)
        return _of_model(self.options, setup, costs, ranks) if setup else _of_calls(self.options, costs, ranks)


def request_of(options: dict[str, Any], only_buckets: bool) -> Request:
    """Check the options. Raises OneLineError, ModelError: they are ambiguous, or contradict each other."""
    given = [name for name in ("model", "shapes", "calls") if options[name] is not None]
    if len(given) != 1:
        found, known = " and ".join(given) or "none", ", ".join(ARCHITECTURES)
        raise OneLineError("training.expected_model_shapes_file", found=found, known=known)
    if options["dtype"] not in DTYPES:
        raise OneLineError("training.dtype", unknown_word=unknown_word("dtype", options["dtype"], DTYPES))
    if options["calls"]:
        if only_buckets:
            raise OneLineError("training.buckets_recorded_calls_no")
        return Request(options, None)
    _refuse_packing(options)
    if options["shapes"] and (wrong := [name for name in TRANSFORMER_OPTIONS if options[name] is not None]):
        raise OneLineError("training.file_shapes_does_not", wrong=wrong[0])
    model = _model(options)
    if options["dtype"] != DEFAULT_DTYPE and options["dtype"] not in model.dtypes(options["dtype"]):
        known = say("training.type_tensor", shapes=options["shapes"], dtypes=", ".join(model.dtypes()))
        raise OneLineError("training.dtype_leave_dtype_out", dtype=options["dtype"], known=known)
    if options["compute"] is not None and options["flop_rate"] is not None:
        raise OneLineError("training.compute_flop_rate_same")
    if options["compute"] is None and options["flop_rate"] is None and not only_buckets:
        raise OneLineError("training.time_computation_missing_add")
    return Request(options, model)


def _model(options: dict[str, Any]) -> Model:
    if options["shapes"]:
        return read_shapes(options["shapes"])
    return known_model(options["model"], options["sequence"])


def _refuse_packing(options: dict[str, Any]) -> None:
    """Raise OneLineError for caps that hold nothing, and for options of the other framework."""
    for name in ("bucket_cap", "first_cap", "fusion"):
        nbytes, option = options[name], f"--{name.replace('_', '-')}"
        if nbytes == 0:
            raise OneLineError("training.bucket_holds_least_element", option=option)
        if nbytes is not None and nbytes < LEAST_CAP_NBYTES:
            raise OneLineError("training.bytes_unit_missing", option=option, nbytes=nbytes)
    others = HOROVOD_PACKING_OPTIONS if options["framework"] == "ddp" else DDP_PACKING_OPTIONS
    if wrong := [name for name in others if options[name] is not None]:
        raise OneLineError(
            "training.not_option_framework", wrong=wrong[0].replace("_", "-"), framework=options["framework"]
        )
    if options["cycle"] == 0:
        raise OneLineError("training.cycle_cycle_takes_time")


def _packing(options: dict[str, Any]):
    """Return the rules of the framework; caps shrink with the scale."""
    scale = options["scale"]

    def scaled(nbytes: int) -> int:
        return max(1, int(nbytes * scale))

    if options["framework"] == "horovod":
        return Fusion(scaled(options["fusion"] or FUSION_NBYTES), options["cycle"] or CYCLE_S)
    caps = Caps(options["bucket_cap"], options["first_cap"], options["torch"] or NEWEST)
    first, cap = caps.limits
    return caps if scale == 1 else caps._replace(cap_nbytes=scaled(cap), first_nbytes=scaled(first))


def _ranks(options: dict[str, Any], costs: Costs) -> tuple[int, ...]:
    measured = costs.ranks if isinstance(costs, LoggedCosts) else DEFAULT_RANKS
    ranks = tuple(options["ranks"] or measured)
    if ranks[-1] > MOST_RANKS:
        raise OneLineError("training.expected_most_ranks", ranks=ranks[-1], most_ranks=MOST_RANKS)
    return ranks


def _of_model(asked: dict[str, Any], setup: Setup, sourced: SourcedCosts, ranks: Sequence[int]) -> Result:
    costs = sourced.costs
    within = costs_of(options_of_tensor(asked)).costs if setup.tensor else None
    outcomes = tuple(outcome(setup, costs, number, within=within) for number in ranks)
    tried = tuple(variants(setup, costs, ranks[-1], tried_caps(setup), within)) if ranks[-1] > 1 else ()
    views, title = asked["views"], setup.model.label
    step = setup, tried, asked["batch"], asked["optimizer"], views
    return Result(title, sourced.source, sourced.network, outcomes, *step, sourced.grade, sourced.placement)


def _of_calls(options: dict[str, Any], sourced: SourcedCosts, ranks: Sequence[int]) -> Result:
    """Return the recorded calls on each number of ranks."""
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


def refuse_unused(given: Collection[str], options: Mapping[str, Any], measure: bool) -> None:
    """Raise OneLineError for the first of the `given` names that changes nothing with these options."""
    if measure:
        _refuse(given, COST_OPTIONS, say("training.measure_reduces_taken_measured"))
    else:
        _refuse(given, MEASURING_OPTIONS, say("training.meaning_measure_add_measure"))
        if not options.get("machine"):
            _refuse(given, ("extrapolate",), say("training.extrapolate_needs_machine"))
        if options["logs"]:
            _refuse(given, ("ranks_per_node", "nic_bandwidth"), say("training.times_log_own_placement"))
    if options["blocking"]:
        _refuse(given, ("overlap",), say("training.blocking_nothing_overlaps_leave"))
    if options["calls"]:
        _refuse(
            given,
            (*STEP_OPTIONS, *PACKING_OPTIONS, *(() if measure else ("dtype",))),
            say("training.recorded_calls_own_sizes"),
        )
    if options["framework"] != "ddp":
        _refuse(given, DDP_OPTIONS, say("training.not_option_framework_leave", framework=options["framework"]))
    if options["shapes"] and options["ready_by"] == "flops":
        _refuse(given, ("ready_by",), say("training.operations_shapes_unknown_use"))


def _refuse(given: Collection[str], names: tuple[str, ...], why: str) -> None:
    if wrong := [name for name in names if name in given]:
        raise OneLineError(
            "training.other_names_why", other_names=OTHER_NAMES.get(wrong[0], wrong[0]).replace("_", "-"), why=why
        )


def costs_of(options: dict[str, Any]) -> SourcedCosts:
    """Return the costs by prices, a machine file, runs or logs.

    Raises OneLineError for no source and for several, and what reading them raises.
    """
    prices = {name: options[name] for name in ("alpha", "bandwidth", "gamma", "alpha_within", "bandwidth_within")}
    sources = [options["machine"], options["logs"], any(prices.values())]
    if sum(map(bool, sources)) != 1:
        found = "found several" if any(sources) else "found none"
        raise OneLineError(
            "training.cost_reduce_expected_alpha", either="unclear" if any(sources) else "missing", found=found
        )
    if options["logs"]:
        return _costs_of_logs(options)
    if not options["machine"] and None in (prices["alpha"], prices["bandwidth"]):
        raise OneLineError("training.alpha_bandwidth_both_needed")
    every = {**prices, "beta": None, "beta_within": None}
    per_node = options["ranks_per_node"]
    machine, source = (
        machine_of_file(options["machine"], every) if options["machine"] else machine_of_prices(every, per_node)
    )
    itemsize = DTYPES[options["dtype"]]
    groups = options.get("groups_of_node", 1)  # of which each has its part of the port
    of_node = round(per_node * groups) if per_node else None
    port = options["nic_bandwidth"] or shared_port(every, of_node)
    if port:
        source += f"; {port_in_words(port, of_node or 1)}"
    port_of_group = port and port / groups
    costs = modelled_costs(
        machine, options["algorithms"], per_node, itemsize, port_of_group, bool(options.get("extrapolate"))
    )
    network = f"the models of {options['machine']}" if options["machine"] else format_rate(prices["bandwidth"])
    return SourcedCosts(costs, source, network, costs.models.grade or None, costs.models.placement or None)


def _costs_of_logs(options: dict[str, Any]) -> SourcedCosts:
    paths: Sequence[Path] = options["logs"]
    names = ", ".join(map(str, paths))
    runs = [path for path in paths if (path / "run.json").exists()]
    logs = [path for path in paths if path not in runs]
    points = [*_timed_of_runs(runs), *_timed_of_logs(logs, options["ranks"])]
    known = dict.fromkeys(point.algorithm for point in points)
    asked = {name: [one for one in known if name in (one, one.split()[0])] for name in options["algorithms"] or known}
    if unknown := [name for name, found in asked.items() if not found]:
        raise OneLineError("training.no_such_algorithm", unknown=unknown[0], names=names, known=", ".join(known))
    chosen = [point for point in points if any(point.algorithm in found for found in asked.values())]
    costs = LoggedCosts(chosen, names)
    smallest, largest = (format_size(end([point.nbytes for point in chosen])) for end in (min, max))
    beyond = say("training.straight_lines_between_rate")
    return SourcedCosts(costs, f"timed in {names} from {smallest} to {largest}; {beyond}", f"the times of {names}")


def _timed_of_runs(paths: Sequence[Path]) -> Iterator[Timed]:
    """Yield the timed all-reduces of run folders."""
    if not paths:
        return
    from ..models.points import points  # late: pandas, which only this needs

    folders = [RunFolder(path) for path in paths]
    tell_damages(folders)
    frame = points(folders)
    for one in frame[frame["cache"] == "warm"].to_dict("records"):
        name = competitor_name(one["algorithm"], one["executor"])
        yield Timed(name, int(one["ranks"]), int(one["nbytes"]), float(one["time_s"]))


def _timed_of_logs(paths: Sequence[Path], ranks: Sequence[int] | None) -> Iterator[Timed]:
    """Yield the timed all-reduces of logs; those that do not give their ranks have the one of `ranks`.

    Prints what was left out of them. Raises LogError; OneLineError for unknown ranks.
    """
    alone = ranks[0] if ranks and len(ranks) == 1 else None
    with told_warnings():
        rows = [row for path in paths for row in read(path)]
    for row in rows:
        if not (row.ranks or alone):
            raise OneLineError("training.log_does_not_state", place=row.place)
    timed = [replace(row, ranks=row.ranks or alone) for row in rows if row.time_s is not None and row.nbytes]
    refuse_mixed(timed, say("training.log_mixes"))
    for row in timed:
        yield Timed(row.algorithm, row.ranks or 0, row.nbytes, row.time_s or 0.0)


def divided_by(options: dict[str, Any], model: Model) -> Divided:
    """Return the part of `model` that a rank has (`--groups`).

    Raises OneLineError, ModelError, ValueError: the groups do not fit.
    """
    ranks = _group_ranks(options)
    return divide(model, options["groups"], ranks, options["batch"], options["ready_by"], options["scale"])


def _group_ranks(options: dict[str, Any]) -> int:
    """Return how many ranks a group has: as many with each number of ranks."""
    if not options["ranks"]:
        raise OneLineError("training.groups_number_ranks_missing")
    groups = options["groups"]
    sizes = {len(groups_of(groups, number)[0]) for number in options["ranks"]}
    if len(sizes) > 1:
        raise OneLineError("training.groups_groups_ranks_expected", groups=groups, sizes=min(sizes), sizes_2=max(sizes))
    return sizes.pop()


def options_of_tensor(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options for the costs of all-reduces within a tensor-parallel group, with its ranks on a node."""
    return _on_nodes(options, groups_of(options["groups"], options["ranks"][0]))


def options_of_data(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options for the ranks that have one place in all groups; without groups for all ranks."""
    if not options["groups"] or not options["ranks"]:
        return options
    return _on_nodes(options, tuple(zip(*groups_of(options["groups"], options["ranks"][-1]))))


def _on_nodes(options: dict[str, Any], groups: Groups) -> dict[str, Any]:
    """Return the options for `groups`; a log without its number of ranks is refused, since there are two numbers.

    `groups_of_node`: how many groups all-reduce at the same time through the port of a node.
    """
    per_node, first = options["ranks_per_node"], groups[0]
    if per_node is None:
        return {**options, "ranks": None}
    nodes = [rank // per_node for rank in first]
    own = max(map(nodes.count, nodes))
    return {**options, "ranks": None, "ranks_per_node": own, "groups_of_node": per_node / own}
