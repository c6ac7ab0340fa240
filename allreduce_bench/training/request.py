"""The options of `workload` turned into the modelled step: tensors, packing, costs.

Options without effect beside others are refused: whoever gives one expects an effect.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ..cli.predict import MOST_RANKS, SHOWN, machine_of_file, machine_of_prices, shared_port
from ..cli.types import OneLineError, tell_damages, told_warnings
from ..importers import read, refuse_mixed
from ..report.forecast import port_in_words
from ..runs.competitor import Competitor
from ..runs.dtypes import DTYPES
from ..runs.folder import RunFolder
from ..units import counted, format_rate, format_size, unknown_word
from .architectures import ARCHITECTURES, known_model
from .buckets import Caps
from .cost import Costs, LoggedCosts, Timed, any_lower_bound, choose, doubts_of, modelled_costs
from .input_files import read_calls, read_shapes, replayed
from .result import Result
from .step import Outcome, Setup, outcome, tried_caps, variants
from .tensors import DEFAULT_DTYPE, Model

# Defaults and limits
DEFAULT_RANKS = (2, 4, 8)
LEAST_CAP_NBYTES = 1024  # below, a unit was probably forgotten

# Options that need others
MEASURING_OPTIONS = ("work", "overlap", "steps")
COST_OPTIONS = ("alpha", "bandwidth", "gamma", "alpha_within", "bandwidth_within", "machine", "logs")
STEP_OPTIONS = ("compute", "backward", "scale", "blocking", "overlap", "bucket_cap")

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
        """Return the step. Raises OneLineError if the time of its computation is unknown."""
        asked = self.options
        assert self.model is not None
        return Setup(
            self.model.scaled(asked["scale"]),
            asked["compute"] or 0.0,  # where only the buckets are requested
            _packing(asked),
            asked["dtype"],
            asked["backward"],
            not asked["blocking"],
        )

    def result(self) -> Result:
        """Return the steps on all numbers of ranks. Raises OneLineError, CostError, MachineError, LogError."""
        setup = self.setup() if self.model else None
        costs = costs_of(self.options)
        ranks = _ranks(self.options, costs.costs)
        return _of_model(self.options, setup, costs, ranks) if setup else _of_calls(self.options, costs, ranks)


def request_of(options: dict[str, Any], only_buckets: bool) -> Request:
    """Check the options. Raises OneLineError, ModelError: they are ambiguous, or contradict each other."""
    given = [name for name in ("model", "shapes", "calls") if options[name] is not None]
    if len(given) != 1:
        found, known = " and ".join(given) or "none", ", ".join(ARCHITECTURES)
        raise OneLineError(f"expected one of MODEL, --shapes FILE, --calls FILE, found {found}; models: {known}")
    if options["dtype"] not in DTYPES:
        raise OneLineError(f"--dtype: {unknown_word('dtype', options['dtype'], DTYPES)}")
    if options["calls"]:
        if only_buckets:
            raise OneLineError("--buckets: recorded calls have no buckets; leave out --calls")
        return Request(options, None)
    _refuse_packing(options)
    model = _model(options)
    if options["dtype"] != DEFAULT_DTYPE and options["dtype"] not in model.dtypes(options["dtype"]):
        known = f"{options['shapes']} has a type for each tensor ({', '.join(model.dtypes())})"
        raise OneLineError(f"--dtype {options['dtype']}: {known}; leave --dtype out, or the types of the file")
    if options["compute"] is None and not only_buckets:
        raise OneLineError("the time of the computation is missing; add --compute 100ms")
    return Request(options, model)


def _model(options: dict[str, Any]) -> Model:
    if options["shapes"]:
        return read_shapes(options["shapes"])
    return known_model(options["model"])


def _refuse_packing(options: dict[str, Any]) -> None:
    """Raise OneLineError for a cap that holds nothing."""
    size_bytes = options["bucket_cap"]
    if size_bytes == 0:
        raise OneLineError("--bucket-cap 0: a bucket holds at least one element; expected a size such as 25M")
    if size_bytes is not None and size_bytes < LEAST_CAP_NBYTES:
        raise OneLineError(f"--bucket-cap {size_bytes}: {size_bytes} bytes; is the unit missing, as in {size_bytes}M?")


def _packing(options: dict[str, Any]) -> Caps:
    """Return the caps of buckets, which shrink with the scale."""
    scale = options["scale"]

    def scaled(size_bytes: int) -> int:
        return max(1, int(size_bytes * scale))

    caps = Caps(options["bucket_cap"])
    first, cap = caps.limits
    return caps if scale == 1 else caps._replace(cap_nbytes=scaled(cap), first_nbytes=scaled(first))


def _ranks(options: dict[str, Any], costs: Costs) -> tuple[int, ...]:
    measured = costs.ranks if isinstance(costs, LoggedCosts) else DEFAULT_RANKS
    ranks = tuple(options["ranks"] or measured)
    if ranks[-1] > MOST_RANKS:
        raise OneLineError(f"-n {ranks[-1]}: expected at most {MOST_RANKS} ranks")
    return ranks


def _of_model(asked: dict[str, Any], setup: Setup, sourced: SourcedCosts, ranks: Sequence[int]) -> Result:
    costs = sourced.costs
    outcomes = tuple(outcome(setup, costs, number) for number in ranks)
    tried = tuple(variants(setup, costs, ranks[-1], tried_caps(setup))) if ranks[-1] > 1 else ()
    of_costs = sourced.grade, sourced.placement
    return Result(setup.model.label, sourced.source, sourced.network, outcomes, setup, tried, *of_costs)


def _of_calls(options: dict[str, Any], sourced: SourcedCosts, ranks: Sequence[int]) -> Result:
    """Return the recorded calls on each number of ranks."""
    calls = read_calls(options["calls"])
    alone_s = sum(call.gap_s for call in calls)
    outcomes = []
    for number in ranks:
        chosen = {
            size_bytes: choose(sourced.costs, number, size_bytes) for size_bytes in {call.size_bytes for call in calls}
        }
        line = replayed(calls, {size_bytes: choice.time_s for size_bytes, choice in chosen.items()}.__getitem__)
        names = tuple(sorted({choice.algorithm for choice in chosen.values()})) if number > 1 else ()
        named = tuple(one._replace(algorithm=chosen[one.size_bytes].algorithm * (number > 1)) for one in line.transfers)
        doubts = doubts_of(sourced.costs, number, named)
        is_lower_bound = any_lower_bound(sourced.costs, number, named)
        outcomes.append(Outcome(number, line._replace(transfers=named), names, alone_s, doubts, is_lower_bound))
    title = f"{options['calls']}, {counted(len(calls), 'call')}"
    result = Result(title, sourced.source, sourced.network, tuple(outcomes))
    return result._replace(grade=sourced.grade, placement=sourced.placement)


def refuse_unused(given: Collection[str], options: Mapping[str, Any], measure: bool) -> None:
    """Raise OneLineError for the first of the `given` names that changes nothing with these options."""
    if measure:
        _refuse(given, COST_OPTIONS, "with --measure all-reduces are taken as they were measured; leave it out")
    else:
        _refuse(given, MEASURING_OPTIONS, "has a meaning with --measure only; add --measure, or leave it out")
        if options["logs"]:
            _refuse(given, ("ranks_per_node",), "the times of a log have their own placement; leave it out")
    if options["blocking"]:
        _refuse(given, ("overlap",), "with --blocking nothing overlaps; leave one of them out")
    if options["calls"]:
        _refuse(
            given,
            (*STEP_OPTIONS, *(() if measure else ("dtype",))),
            "recorded calls have their own sizes and gaps; leave it out",
        )


def _refuse(given: Collection[str], names: tuple[str, ...], why: str) -> None:
    if wrong := [name for name in names if name in given]:
        other_names = OTHER_NAMES.get(wrong[0], wrong[0]).replace("_", "-")
        raise OneLineError(f"--{other_names}: {why}")


def costs_of(options: dict[str, Any]) -> SourcedCosts:
    """Return the costs by prices, a machine file, runs or logs.

    Raises OneLineError for no source and for several, and what reading them raises.
    """
    prices = {name: options[name] for name in ("alpha", "bandwidth", "gamma", "alpha_within", "bandwidth_within")}
    sources = [options["machine"], options["logs"], any(prices.values())]
    if sum(map(bool, sources)) != 1:
        found = "found several" if any(sources) else "found none"
        either = "unclear" if any(sources) else "missing"
        raise OneLineError(
            f"the cost of an all-reduce is {either}; expected one of --alpha 20us --bandwidth 10Gbit, -m MACHINE, "
            f"--log FILE; {found}"
        )
    if options["logs"]:
        return _costs_of_logs(options)
    if not options["machine"] and None in (prices["alpha"], prices["bandwidth"]):
        raise OneLineError("--alpha and --bandwidth: both are needed, such as --alpha 20us --bandwidth 10Gbit")
    every = {**prices, "beta": None, "beta_within": None}
    per_node = options["ranks_per_node"]
    machine, source = (
        machine_of_file(options["machine"], every) if options["machine"] else machine_of_prices(every, per_node)
    )
    itemsize = DTYPES[options["dtype"]]
    port = shared_port(every, per_node)
    if port:
        source += f"; {port_in_words(port, per_node or 1)}"
    names = options["algorithms"] or (() if options["machine"] else SHOWN)
    costs = modelled_costs(machine, names, per_node, itemsize, port)
    network = f"the models of {options['machine']}" if options["machine"] else format_rate(prices["bandwidth"])
    return SourcedCosts(costs, source, network, costs.models.grade or None, costs.models.placement or None)


def _costs_of_logs(options: dict[str, Any]) -> SourcedCosts:
    paths: Sequence[Path] = options["logs"]
    names = ", ".join(map(str, paths))
    runs = [path for path in paths if (path / "run.json").exists()]
    logs = [path for path in paths if path not in runs]
    points = [*_timed_of_runs(runs), *_timed_of_logs(logs, options["ranks"])]
    known = dict.fromkeys(point.algorithm for point in points)
    asked = {
        name: [one for one in known if name in (one, Competitor(one).algorithm)]
        for name in options["algorithms"] or known
    }
    if unknown := [name for name, found in asked.items() if not found]:
        raise OneLineError(f"-a {unknown[0]}: {names} has no such algorithm; it has {', '.join(known)}")
    chosen = [point for point in points if any(point.algorithm in found for found in asked.values())]
    costs = LoggedCosts(chosen, names)
    smallest, largest = (format_size(end([point.size_bytes for point in chosen])) for end in (min, max))
    beyond = "straight lines between them, and the rate of the largest above it"
    return SourcedCosts(costs, f"timed in {names} from {smallest} to {largest}; {beyond}", f"the times of {names}")


def _timed_of_runs(paths: Sequence[Path]) -> Iterator[Timed]:
    """Yield the timed all-reduces of run folders."""
    if not paths:
        return
    from ..models.points import points  # late: pandas, which only this needs

    folders = [RunFolder(path) for path in paths]
    tell_damages(folders)
    frame = points(folders)
    for one in frame.to_dict("records"):
        yield Timed(one["competitor"], int(one["ranks"]), int(one["size_bytes"]), float(one["time_s"]))


def _timed_of_logs(paths: Sequence[Path], ranks: Sequence[int] | None) -> Iterator[Timed]:
    """Yield the timed all-reduces of logs; those that do not give their ranks have the one of `ranks`.

    Prints what was left out of them. Raises LogError; OneLineError for unknown ranks.
    """
    alone = ranks[0] if ranks and len(ranks) == 1 else None
    with told_warnings():
        rows = [row for path in paths for row in read(path)]
    for row in rows:
        if not (row.ranks or alone):
            raise OneLineError(f"{row.place}: the log does not state its number of ranks; add -n with one number")
    timed = [replace(row, ranks=row.ranks or alone) for row in rows if row.time_s is not None and row.size_bytes]
    refuse_mixed(timed, "import one of them with --where, and give the run to --log")
    for row in timed:
        yield Timed(row.competitor, row.ranks or 0, row.size_bytes, row.time_s or 0.0)
