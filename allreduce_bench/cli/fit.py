"""`fit`: from measured times to a model of each series, and a machine file that `predict` reads."""

import warnings
from collections.abc import Mapping
from datetime import datetime, timezone
from fnmatch import fnmatchcase
from pathlib import Path

import click
import pandas as pd

from .. import __version__
from ..algorithms import builtin, find
from ..runs.schema import FLOOR
from .types import NAMES, OneLineError, errors_in_one_line, own_files, talk

OWN = "left out, of a file of your own; 'predict' knows the algorithms of 'list' only"
FORMATS = ("table", "csv", "json")


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN|LOG...", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write the machine file for 'predict' there.")
@click.option("-a", "--algorithms", type=NAMES, help="Fit these names only; * stands for anything [default: all].")
@click.option(
    "--as",
    "priced_as",
    multiple=True,
    metavar="NAME=ALGORITHM",
    help="NAME of a log sends the messages of ALGORITHM of 'list'; may be repeated.",
)
@own_files
@click.option("--ranks-per-node", type=click.IntRange(1), metavar="N", help="Where nothing says how many nodes.")
@click.option("--format", "format_", type=click.Choice(FORMATS), default="table", show_default=True)
@errors_in_one_line
def fit(runs, output, algorithms, priced_as, own, ranks_per_node, format_) -> None:
    """Fit a latency/bandwidth model to each algorithm of RUNs, or of other tools' LOGs.

    Prints the parameters with 95 % intervals, and how far the model is off: in sample; at each number of ranks when it
    is left out; at the largest when it is left out. In the last two the model is chosen and fitted without them. Next
    to it stands the plain alpha-beta fit. Series are never pooled over runs, executors, caches and types.
    """
    from ..models.joint import joints, local_gammas
    from ..models.listing import Listing
    from ..models.series import FittedSeries, UnfittedSeries, fit_series

    everything = _points(runs)
    points = _of_names(everything[everything["executor"] != FLOOR], algorithms)
    if ranks_per_node:
        points["nodes"] = points["nodes"].fillna(-(-points["ranks"] // ranks_per_node))
    found = list(fit_series(points, _names(priced_as, points), own))
    fitted = [one for one in found if isinstance(one, FittedSeries)]
    unfit = [one for one in found if isinstance(one, UnfittedSeries)]
    if not fitted:
        raise OneLineError(_nothing(unfit))
    joint, refused = joints(fitted)
    listing = Listing(fitted, unfit, joint, refused, local_gammas(everything))
    if output:
        for words in _write(output, points, listing):
            talk(f"{output}: {words}")
    click.echo(getattr(listing, format_)(), nl=False)


def _points(paths: tuple[Path, ...]) -> pd.DataFrame:
    """The points of runs and of logs, in the columns of POINTS."""
    from ..importers import LogWarning
    from ..importers import points as points_of_log
    from ..models.points import points as points_of_runs
    from ..runs.folder import RunFolder

    runs = [RunFolder(path) for path in paths if (path / "run.json").exists()]
    logs = [path for path in paths if not (path / "run.json").exists()]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LogWarning)
        frames = [points_of_log(path) for path in logs]
    for path, frame in zip(logs, frames):
        if len(frame) and frame["ranks"].isna().all():
            raise OneLineError(
                f"{path}: the log does not say of how many ranks; make a run of it by 'import -n N' first"
            )
    for warning in caught:
        talk(f"warning: {warning.message}")
    return pd.concat([*([points_of_runs(runs, floors=True)] if runs else []), *frames], ignore_index=True)


def _of_names(points: pd.DataFrame, names: tuple[str, ...] | None) -> pd.DataFrame:
    """The points of these algorithms. Raises OneLine where there is none of a name."""
    known = sorted(set(points["algorithm"].dropna().astype(str)))
    for name in names or ():
        if not any(fnmatchcase(one, name) for one in known):
            raise OneLineError(f"-a {name}: not among the measured ones: {', '.join(known) or 'there are none'}")
    if not names:
        return points.copy()
    wanted = [any(fnmatchcase(str(one), name) for name in names) for one in points["algorithm"]]
    return points[wanted].copy()


def _names(words: tuple[str, ...], points: pd.DataFrame) -> Mapping[str, str]:
    """By name of a log the algorithm of `--as`. Raises AlgorithmError for one that is not known."""
    found = {}
    for word in words:
        name, equals, algorithm = word.partition("=")
        if not equals or not name or not algorithm:
            raise OneLineError(f"--as {word}: expected NAME=ALGORITHM, such as ring_over=ring")
        if name not in set(points["algorithm"].astype(str)):
            raise OneLineError(f"--as {word}: no points of '{name}'")
        (found[name],) = find([algorithm]) if not algorithm.endswith(".py") else ("",)
        if not found[name]:
            raise OneLineError(f"--as {word}: expected a name of 'allreduce-bench list'")
    return found


def _nothing(unfit) -> str:
    """Why nothing could be fitted."""
    if not unfit:
        return "nothing to fit: there is no all-reduce with a time above 0"
    first, more = unfit[0], len(unfit) - 1
    return f"{first.algorithm}: {first.reason}" + (f" (and {more} more series that cannot be fitted)" if more else "")


def _write(path: Path, points: pd.DataFrame, listing) -> list[str]:
    """Write the machine file; return what to say of it."""
    from ..models.machine import Machine, write_machine

    runs = []
    for run, rows in points.groupby("run", sort=False, dropna=False):
        known = {name: sorted({int(value) for value in rows[name].dropna()}) for name in ("ranks", "nodes")}
        runs.append({"run": str(run), **known})
    notes = [f"{one.algorithm}: {one.reason}" for one in listing.unfit] + list(listing.refused)
    for one in listing.joint:
        gamma = one.gamma
        notes.append(
            f"gamma {gamma.value:.3g} s/byte ({gamma.low:.2g} to {gamma.high:.2g}): {', '.join(one.algorithms)}"
        )
    created = datetime.now(timezone.utc).isoformat(timespec="seconds")
    models = tuple(one.model for one in listing.fitted if one.model.parts[0].priced_as in builtin())
    left_out = [f"{one.model.algorithm}: {OWN}" for one in listing.fitted if one.model not in models]
    notes += left_out
    write_machine(Machine(models, f"allreduce-bench {__version__}", created, tuple(runs), notes=tuple(notes)), path)
    return [f"{len(models)} models", *left_out]
