"""`predict`: predict times that were not measured, from a machine file or from alpha and beta alone."""

from collections.abc import Sequence
from pathlib import Path

import click

from ..runs.inventory import is_run, newest_first
from ..units import format_rate, parse_price, parse_rates, parse_size, shell_word
from .sections import examples
from .terminal import screen
from .types import NAMES, RANKS, RATE, SIZES, OneLineError, errors_in_one_line, parsed, talk

MACHINE_FILE = "machine.json"  # in the folder of a run
DEFAULT_SIZES = "8,64,512,4K,32K,256K,1M,4M,16M,64M"
MOST_RANKS = 1 << 18
LARGEST = 1 << 50  # bytes: a PiB
MOST_ALPHA_S, MOST_BETA_S = 1.0, 1e-3  # of a message, of a byte: no network is so slow, but a unit is easily forgotten
SHOWN = ("ring", "tree", "two_tree", "recursive_doubling", "rabenseifner")  # without a machine file
ALL = "all"
WITH_FILE = ("bandwidth", "gamma")  # prices that may replace a machine file's
NEEDS = "predict needs a machine file that 'fit' wrote, or --alpha 5us --bandwidth 100Gbit"
PRICE = parsed("price", parse_price)


def bandwidths_of(text: str) -> tuple[float, ...]:
    """Parse a bandwidth, or two to compare, `10Gbit,25Gbit`, to bytes/s. Raises ValueError."""
    rates = parse_rates(text)
    if len(rates) > 2:
        raise ValueError(
            f"'{text}': expected one bandwidth, or two to compare, such as 10Gbit,25Gbit; found {len(rates)}"
        )
    if len(set(rates)) < len(rates):
        raise ValueError(f"'{text}': the two bandwidths are equal; expected two to compare, such as 10Gbit,25Gbit")
    return rates


BANDWIDTHS = parsed("rates", bandwidths_of)
SEGMENT = parsed("segment", lambda text: text if text == "best" else parse_size(text))


@click.command(
    epilog=examples(
        "predict -n 8,64,1024 --alpha 5us --bandwidth 100Gbit",
        "predict machine.json -n 64-128 --sizes 8,64K,16M",
        "predict machine.json -n 2-1024 --map",
        "predict machine.json -n 64 --bandwidth 25Gbit",
        "predict -n 64 --alpha 5us --bandwidth 10Gbit,25Gbit",
    )
)
@click.argument("machine", required=False, type=click.Path(path_type=Path))
@click.option("-n", "--ranks", type=RANKS, help="Rank counts, e.g. 24576, 2,4,8 or 2-64.")
@click.option("--sizes", type=SIZES, default=DEFAULT_SIZES, show_default=True, help="Sizes in bytes.")
@click.option("--ranks-per-node", type=click.IntRange(1), metavar="N", help="Ranks that share a node.")
@click.option(
    "-a",
    "--algorithms",
    type=NAMES,
    default=(),
    help=f"Names, or all [default: all that were fitted; without MACHINE {', '.join(SHOWN)}].",
)
@click.option(
    "--segment",
    type=SEGMENT,
    help="Segment of pipelined algorithms: 64K, or best [default: as measured; best without MACHINE].",
)
@click.option("--alpha", type=PRICE, help="Without MACHINE: seconds per message, e.g. 5us.")
@click.option(
    "--bandwidth", type=BANDWIDTHS, help="Rate of a rank's link, e.g. 100Gbit; two to compare them: 10Gbit,25Gbit."
)
@click.option("--gamma", type=PRICE, help="Seconds per reduced byte [default: 0].")
@click.option("--alpha-within", type=PRICE, help="Seconds per message within a node.")
@click.option("--bandwidth-within", type=RATE, help="Rate within a node, e.g. 100GB/s.")
@click.option(
    "--nic-bandwidth",
    type=RATE,
    help="Rate of the port that the ranks of a node share [default: --bandwidth; with MACHINE no port is assumed].",
)
@click.option(
    "--extrapolate",
    is_flag=True,
    help="Also beyond 8 times the measured ranks and 4 times the sizes, and by models of no use; speculative.",
)
@click.option("--format", "layout", type=click.Choice(("table", "csv", "json")), default="table", show_default=True)
@click.option("--map", "as_map", is_flag=True, help="Only the fastest algorithms, ranks down and sizes across.")
@click.option("-v", "--verbose", is_flag=True, help="Also bounds, crossings and what is to be known of the fit.")
@errors_in_one_line
def predict(
    machine,
    ranks,
    sizes,
    ranks_per_node,
    algorithms,
    segment,
    nic_bandwidth,
    extrapolate,
    layout,
    as_map,
    verbose,
    bandwidth,
    **prices,
) -> None:
    """Predict the times of all-reduces from MACHINE, or from --alpha and --bandwidth.

    MACHINE is a file that 'fit' wrote, or the run into which it did; without MACHINE and --alpha the newest run of
    results/.

    What was measured has its measured time; elsewhere times are priced by alpha and beta, and scaled by what was
    measured nearby. There are none beyond 8 times the measured ranks or 4 times the sizes without --extrapolate.
    MACHINE with --bandwidth: the same machine with other links.

    The ranks of a node share its port: with prices its rate is --bandwidth unless --nic-bandwidth is given;
    the models of MACHINE contain the ports as they were measured.
    """
    sizes = tuple(sorted(set(sizes)))
    _refuse_extent(ranks, sizes, ranks_per_node, segment)
    if as_map and layout != "table":
        raise OneLineError(f"--map is a table; leave out --format {layout}")
    if machine is None and not any(value is not None for name, value in prices.items() if name not in WITH_FILE):
        machine = _newest_machine_file()
    elif machine is None and not algorithms:
        algorithms = SHOWN
    elif machine is not None and machine.is_dir():
        machine = _machine_file_of(machine)
    algorithms = () if tuple(algorithms) == (ALL,) else algorithms
    asked = [{**prices, "bandwidth": rate} for rate in bandwidth or (None,)]
    machines = [
        machine_of_file(machine, given) if machine else machine_of_prices(given, ranks_per_node) for given in asked
    ]
    if machine and bandwidth and all(one.is_of_one_node for one, _ in machines):
        talk("one node was fitted: alpha is the latency of shared memory, not of links; fit a run over two nodes")
    from ..models.prediction import BEST, Layout, competing_models  # late, as the others: they load pandas or scipy
    from ..report import forecast

    forecasts = []
    for given, (priced, source) in zip(asked, machines):
        chosen = segment or (BEST if priced.bare else None)
        nic = nic_bandwidth or (shared_port(given, ranks_per_node) if priced.bare else None)
        others = (None, 0.0) if priced.bare else (_beta(given["bandwidth"]), given["gamma"] or 0.0)
        competing = competing_models(
            priced, algorithms, Layout(ranks_per_node, chosen, None, nic, extrapolate, *others)
        )
        forecasts.append(forecast.Forecast(priced, source, competing, ranks, sizes))
    if len(forecasts) > 1:
        from ..report.bandwidths import as_comparison

        if as_map or layout != "table":
            option = "--map" if as_map else f"--format {layout}"
            raise OneLineError(
                f"--bandwidth: two bandwidths are compared in a table of text; leave {option} out, or name one "
                "bandwidth"
            )
        text = as_comparison(forecasts, bandwidth, screen())
    elif layout == "table":
        text = forecast.as_text(forecasts[0], screen(), as_map, verbose)
    else:
        text = {"csv": forecast.as_csv, "json": forecast.as_json}[layout](forecasts[0])
    click.echo(text.rstrip("\n"))


def _newest_machine_file() -> Path:
    """Return the machine file of the newest run of results/. Raises OneLineError if there is none."""
    from .kept_runs import RESULTS  # late: only without a file and without prices

    runs = newest_first(RESULTS) if RESULTS.is_dir() else []
    if not runs:
        raise OneLineError(NEEDS)
    newest, *older = (run.folder.path for run in runs)
    path = _machine_file_of(newest, older)
    talk(f"models of the newest run: {path}")
    return path


def _machine_file_of(run: Path, older: Sequence[Path] = ()) -> Path:
    """Return the machine file of a run. Raises OneLineError if there is none, with one of an `older` run."""
    path = run / MACHINE_FILE
    if path.exists():
        return path
    if not is_run(run):
        raise OneLineError(f"{run}: a folder, but no run; expected a machine file or a run that 'fit' fitted")
    fitted = next((shell_word(other) for one in older if (other := one / MACHINE_FILE).exists()), "a machine file")
    raise OneLineError(
        f"{path}: no such file; run allreduce-bench fit {shell_word(run)} first, or name {fitted}, or give --alpha and "
        "--bandwidth"
    )


def _refuse_extent(ranks, sizes, ranks_per_node, segment) -> None:
    if not ranks:
        raise OneLineError("predict needs rank counts, such as -n 1024 or -n 2-64")
    if ranks[0] < 2:
        raise OneLineError("-n 1: expected 2 ranks or more")
    if ranks[-1] > MOST_RANKS:
        raise OneLineError(f"-n {ranks[-1]}: expected at most {MOST_RANKS} ranks")
    if sizes[0] < 1 or sizes[-1] > LARGEST:
        outside = sizes[0] if sizes[0] < 1 else sizes[-1]
        raise OneLineError(f"--sizes: {outside} bytes; expected 1 B to 1 PiB")
    if segment == 0:
        raise OneLineError("--segment 0: a segment holds at least one element")
    if ranks_per_node and ranks_per_node > ranks[-1]:
        raise OneLineError(f"--ranks-per-node {ranks_per_node}: more than the {ranks[-1]} ranks in total")


def machine_of_file(path: Path, prices: dict):
    """Return the machine of a file of `fit`, and its source as a sentence.

    Raises OneLineError beside prices other than a byte's.
    """
    from ..models.machine import read_machine

    if given := [name for name, value in prices.items() if value is not None and name not in WITH_FILE]:
        raise OneLineError(
            f"{path} contains the costs of messages; leave out --{given[0].replace('_', '-')}, or the file; "
            "--bandwidth asks what other links would do to it"
        )
    rate = prices["bandwidth"]
    if prices["gamma"] is not None and rate is None:
        raise OneLineError(f"{path}: its beta holds the reduction; --gamma needs --bandwidth beside it")
    _refuse_without_unit({"gamma": prices["gamma"]})
    machine = read_machine(path)
    from ..report.forecast import source_of  # after what may be wrong

    links = f", with links of {format_rate(rate)}" if rate else ""
    return machine, source_of(machine, str(path)) + links


def machine_of_prices(prices: dict, ranks_per_node: int | None):
    """Return a machine of these prices alone, and its source as a sentence. Raises OneLineError if one is missing."""
    from ..models.machine import Prices, bare_machine
    from ..report.forecast import prices_in_words

    beta, beta_within = _beta(prices["bandwidth"]), _beta(prices["bandwidth_within"])
    if prices["alpha"] is None or beta is None:
        raise OneLineError(NEEDS)
    _refuse_without_unit({name: prices[name] for name in ("alpha", "alpha_within", "gamma")})
    between = Prices(prices["alpha"], beta)
    source = prices_in_words(*between)
    within = None
    if prices["alpha_within"] is not None or beta_within is not None:
        if ranks_per_node is None:
            raise OneLineError("costs within a node need --ranks-per-node")
        within = Prices(prices["alpha_within"] or between.alpha_s, beta_within or between.beta_s_per_byte)
        source += f" between nodes; {prices_in_words(*within)} within"
    gamma = prices["gamma"] or 0.0
    source += f"; reductions at {1 / gamma / 1000000000.0:.3g} GB/s" if gamma else "; reductions without cost"
    return bare_machine(*between, gamma, within), source


def shared_port(prices: dict, ranks_per_node: int | None) -> float | None:
    """Return the default rate of a node's port, bytes/s: the rate of the link between nodes.

    None with a machine file, whose times were measured with the ports that were there, and with one rank per node.
    """
    return prices["bandwidth"] if (ranks_per_node or 1) > 1 else None


def _refuse_without_unit(prices: dict) -> None:
    """Raise OneLineError for an implausibly high price: its unit was forgotten."""
    for name, price in prices.items():
        most, such = (MOST_ALPHA_S, "5us") if name.startswith("alpha") else (MOST_BETA_S, "1ns")
        if price is not None and price > most:
            option = f"--{name.replace('_', '-')}"
            raise OneLineError(
                f"{option} {price:g}: {price:g} s, more than {most:g} s; is the unit missing, as in {such}?"
            )


def _beta(rate_bytes_per_s: float | None) -> float | None:
    """Return the seconds per byte of a link; None: no rate is given."""
    return None if rate_bytes_per_s is None else 1 / rate_bytes_per_s
