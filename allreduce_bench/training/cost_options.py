"""What an all-reduce costs, from the options of `workload`: prices, a machine file, runs or logs."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..cli.predict import machine_of_file, machine_of_prices, shared_port
from ..cli.types import OneLineError, tell_damages
from ..runs.dtypes import DTYPES
from ..units import format_rate, format_size

if TYPE_CHECKING:
    from .cost import Costs, Timed


class SourcedCosts(NamedTuple):
    """What an all-reduce costs, and where that is from: a sentence, and words for the middle of one.

    `grade` and `placement` of the times that models were fitted to; None: no models of measured times.
    """

    costs: "Costs"
    source: str
    network: str
    grade: str | None = None
    placement: str | None = None


def costs_of(options: dict[str, Any]) -> SourcedCosts:
    """The costs. Raises OneLineError for no source and for several, and what reading them raises."""
    from ..report.forecast import port_in_words
    from .cost import modelled_costs

    prices = {name: options[name] for name in ("alpha", "bandwidth", "gamma", "alpha_within", "bandwidth_within")}
    sources = [options["machine"], options["logs"], any(prices.values())]
    if sum(map(bool, sources)) != 1:
        found = "found several" if any(sources) else "found none"
        raise OneLineError(
            f"the cost of an all-reduce is {'unclear' if any(sources) else 'missing'}; expected one of "
            f"--alpha 20us --bandwidth 10Gbit, -m MACHINE, --log FILE; {found}"
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
    groups = options.get("groups_of_node", 1)  # of which each has its part of the port
    of_node = round(per_node * groups) if per_node else None
    port = options["nic_bandwidth"] or shared_port(every, of_node)
    if port:
        source += f"; {port_in_words(port, of_node or 1)}"
    costs = modelled_costs(machine, options["algorithms"], per_node, itemsize, port and port / groups)
    network = f"the models of {options['machine']}" if options["machine"] else format_rate(prices["bandwidth"])
    return SourcedCosts(costs, source, network, costs.models.grade or None, costs.models.placement or None)


def _costs_of_logs(options: dict[str, Any]) -> SourcedCosts:
    from .cost import LoggedCosts

    paths: Sequence[Path] = options["logs"]
    names = ", ".join(map(str, paths))
    points = [point for path in paths for point in timed_of(path, options["ranks"])]
    known = dict.fromkeys(point.algorithm for point in points)
    asked = {name: [one for one in known if name in (one, one.split()[0])] for name in options["algorithms"] or known}
    if unknown := [name for name, found in asked.items() if not found]:
        raise OneLineError(f"-a {unknown[0]}: {names} has no such algorithm; it has {', '.join(known)}")
    chosen = [point for point in points if any(point.algorithm in found for found in asked.values())]
    costs = LoggedCosts(chosen, names)
    smallest, largest = (format_size(end([point.nbytes for point in chosen])) for end in (min, max))
    beyond = "straight lines between them, and the rate of the largest above it"
    return SourcedCosts(costs, f"timed in {names} from {smallest} to {largest}; {beyond}", f"the times of {names}")


def timed_of(path: Path, ranks: Sequence[int] | None) -> "Iterator[Timed]":
    """The timed all-reduces of a run folder or a log; of one that does not say its ranks, the one of `ranks`."""
    from .cost import Timed

    if (path / "run.json").exists():
        from ..models.points import points
        from ..runs.cell import competitor_name
        from ..runs.folder import RunFolder

        tell_damages([RunFolder(path)])
        frame = points([RunFolder(path)])
        for one in frame[frame["cache"] == "warm"].to_dict("records"):
            name = competitor_name(one["algorithm"], one["executor"])
            yield Timed(name, int(one["ranks"]), int(one["nbytes"]), float(one["time_s"]))
        return
    from ..importers import read

    alone = ranks[0] if ranks and len(ranks) == 1 else None
    for row in read(path):
        number = row.ranks or alone
        if number is None:
            raise OneLineError(f"{row.place}: the log does not state its number of ranks; add -n with one number")
        if row.time_s is not None and row.nbytes:
            yield Timed(row.algorithm, number, row.nbytes, row.time_s)
