"""The options of `workload` turned into the modelled step: tensors, packing, costs.

Options without effect beside others are refused: whoever gives one expects an effect.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..cli.predict import MOST_RANKS, SHOWN, machine_of_file, machine_of_prices
from ..cli.types import OneLineError, tell_damages, told_warnings
from ..importers import read, refuse_mixed
from ..models.machine import is_machine_file
from ..runs.competitor import Competitor
from ..runs.dtypes import DTYPES
from ..runs.folder import RunFolder
from ..units import format_rate, format_size, unknown_word
from .buckets import BY_DEFAULT, Caps
from .cost import Costs, LoggedCosts, Timed, modelled_costs
from .result import Result
from .shape_file import find_model
from .step import Setup, outcome, tried_caps, variants
from .tensors import DEFAULT_DTYPE

# Defaults and limits
LEAST_CAP_NBYTES = 1024  # below, a unit was probably forgotten

# Options by what they are for
COST_OPTIONS = ("alpha", "bandwidth", "machine")
BUCKET_OPTIONS = ("model", "scale", "bucket_cap", "dtype")
PRICES = ("alpha", "bandwidth", "gamma", "beta", "alpha_within", "bandwidth_within", "beta_within")  # of `predict`


def read_setup(options: dict[str, Any], given: Collection[str]) -> Setup:
    """Return the step that the options name; where only its buckets are asked for, it takes no time.

    `given` names the options of the command line. Raises OneLineError, ModelError: they are ambiguous, contradict each
    other, or change nothing.
    """
    model = find_model(options["model"])
    dtype, scale = options["dtype"], options["scale"]
    if dtype not in DTYPES:
        raise OneLineError(f"--dtype: {unknown_word('dtype', dtype, DTYPES)}")
    if options["measure"] and (wrong := [name for name in COST_OPTIONS if name in given]):
        raise OneLineError(f"--{wrong[0]}: with --measure all-reduces are taken as they were measured; leave it out")
    _refuse_packing(options)
    if dtype != DEFAULT_DTYPE and dtype not in model.dtypes(dtype):
        known = f"{options['model']} has a type for each tensor ({', '.join(model.dtypes())})"
        raise OneLineError(f"--dtype {dtype}: {known}; leave --dtype out, or the types of the file")
    if options["compute"] is None and {*given} - {*BUCKET_OPTIONS}:
        raise OneLineError("the time of the computation is missing; add --compute 100ms")
    compute_s, backward_share = options["compute"] or (0.0, 0.0)
    caps = (options["bucket_cap"], options["bucket_cap"]) if options["bucket_cap"] else BY_DEFAULT
    packing = Caps(*(max(1, int(size_bytes * scale)) for size_bytes in caps))
    return Setup(model.scaled(scale), compute_s, packing, dtype, backward_share)


def model_step(setup: Setup, options: dict[str, Any]) -> Result:
    """Return the step on all numbers of ranks. Raises OneLineError, CostError, MachineError, LogError."""
    costs = find_costs(options)
    ranks = tuple(options["ranks"] or costs.ranks)
    if ranks[-1] > MOST_RANKS:
        raise OneLineError(f"-n {ranks[-1]}: expected at most {MOST_RANKS} ranks")
    return Result(
        setup,
        costs.source,
        costs.network,
        outcomes=tuple(outcome(setup, costs, number) for number in ranks),
        variants=tuple(variants(setup, costs, ranks[-1], tried_caps(setup))) if ranks[-1] > 1 else (),
        grade=costs.grade,
        placement=costs.placement,
    )


def _refuse_packing(options: dict[str, Any]) -> None:
    """Raise OneLineError for a cap that holds nothing."""
    size_bytes = options["bucket_cap"]
    if size_bytes == 0:
        raise OneLineError("--bucket-cap 0: a bucket holds at least one element; expected a size such as 25M")
    if size_bytes is not None and size_bytes < LEAST_CAP_NBYTES:
        raise OneLineError(f"--bucket-cap {size_bytes}: {size_bytes} bytes; is the unit missing, as in {size_bytes}M?")


def find_costs(options: dict[str, Any]) -> Costs:
    """Return the costs by prices, a machine file, a run or a log.

    Raises OneLineError for no source and for several, and what reading them raises.
    """
    prices = {**dict.fromkeys(PRICES), "alpha": options["alpha"], "bandwidth": options["bandwidth"]}
    path, is_priced = options["machine"], any(prices.values())
    if bool(path) == is_priced:
        either, found = ("unclear", "found both") if path else ("missing", "found none")
        raise OneLineError(
            f"the cost of an all-reduce is {either}; expected --alpha 20us --bandwidth 10Gbit, or -m FILE; {found}"
        )
    if path and not is_machine_file(path):
        return _timed_costs(options)
    if is_priced and None in (prices["alpha"], prices["bandwidth"]):
        raise OneLineError("--alpha and --bandwidth: both are needed, such as --alpha 20us --bandwidth 10Gbit")
    machine, source = machine_of_file(path, prices) if path else machine_of_prices(prices, None)
    names = options["algorithms"] or (() if path else SHOWN)
    costs = modelled_costs(machine, names, DTYPES[options["dtype"]])
    costs.source, costs.network = source, f"the models of {path}" if path else format_rate(prices["bandwidth"])
    return costs


def _timed_costs(options: dict[str, Any]) -> LoggedCosts:
    """Return the costs by a run or a log."""
    path: Path = options["machine"]
    points = [*(_points_of_run(path) if (path / "run.json").exists() else _points_of_log(path, options["ranks"]))]
    known = dict.fromkeys(point.algorithm for point in points)
    asked = {
        name: [one for one in known if name in (one, Competitor(one).algorithm)]
        for name in options["algorithms"] or known
    }
    if unknown := [name for name, found in asked.items() if not found]:
        raise OneLineError(f"-a {unknown[0]}: {path} has no such algorithm; it has {', '.join(known)}")
    chosen = [point for point in points if any(point.algorithm in found for found in asked.values())]
    costs = LoggedCosts(chosen, str(path))
    smallest, largest = (format_size(end([point.size_bytes for point in chosen])) for end in (min, max))
    beyond = "straight lines between them, and the rate of the largest above it"
    costs.source, costs.network = f"timed in {path} from {smallest} to {largest}; {beyond}", f"the times of {path}"
    return costs


def _points_of_run(path: Path) -> Iterator[Timed]:
    """Yield the timed all-reduces of a run folder."""
    from ..models.points import points  # late: pandas, which only this needs

    folders = [RunFolder(path)]
    tell_damages(folders)
    for one in points(folders).to_dict("records"):
        yield Timed(one["competitor"], int(one["ranks"]), int(one["size_bytes"]), float(one["time_s"]))


def _points_of_log(path: Path, ranks: Sequence[int] | None) -> Iterator[Timed]:
    """Yield the timed all-reduces of a log; those that do not give their ranks have the one of `ranks`.

    Prints what was left out of it. Raises LogError; OneLineError for unknown ranks.
    """
    alone = ranks[0] if ranks and len(ranks) == 1 else None
    with told_warnings():
        rows = read(path)
    for row in rows:
        if not (row.ranks or alone):
            raise OneLineError(f"{row.place}: the log does not state its number of ranks; add -n with one number")
    timed = [replace(row, ranks=row.ranks or alone) for row in rows if row.time_s is not None and row.size_bytes]
    refuse_mixed(timed, "import some of them with --where, and give the run to -m")
    for row in timed:
        yield Timed(row.competitor, row.ranks or 0, row.size_bytes, row.time_s or 0.0)
