"""`fit`: fit a model to each series of measured times, and write a machine file that `predict` reads."""

import warnings
from collections.abc import Mapping
from datetime import datetime, timezone
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .. import __version__
from ..algorithms import builtin, find
from ..message import say
from ..runs.cell import parts_of
from ..runs.schema import FLOOR
from ..units import MAX_RANKS
from .sections import examples
from .show import opened_runs, or_newest
from .terminal import screen
from .types import NAMES, OneLineError, errors_in_one_line, no_limit, own_files, talk, tell_damages

if TYPE_CHECKING:
    import pandas as pd

OWN_FILE_REASON = "left out: algorithm from your own file; 'predict' supports only the algorithms of 'list'"
FORMATS = ("table", "csv", "json")


@click.command(epilog=examples("fit results/today", "fit results/today -a ring,native -o machine.json"))
@click.argument("runs", nargs=-1, metavar="[RUN|LOG]...", type=click.Path(path_type=Path), callback=or_newest)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Write the machine file for 'predict' to this file."
)
@click.option("-a", "--algorithms", type=NAMES, help="Fit only these names; * matches anything [default: all].")
@click.option(
    "--as",
    "priced_as",
    multiple=True,
    metavar="NAME=ALGORITHM",
    help="NAME in a log is ALGORITHM of 'list'; may be repeated.",
)
@own_files
@click.option(
    "--ranks-per-node", type=click.IntRange(1, MAX_RANKS), metavar="N", help="For logs without a number of nodes."
)
@click.option("--format", "format_", type=click.Choice(FORMATS), default="table", show_default=True)
@no_limit
@errors_in_one_line
def fit(runs, output, algorithms, priced_as, own, ranks_per_node, format_, no_limit) -> None:
    """Fit a latency/bandwidth model to each algorithm of RUNs, or of other tools' LOGs; by default of the newest run.

    Prints the parameters with 95 % intervals, and how far the model is off: in sample; at each number of ranks when it
    is left out; at the largest when it is left out. In the last two the model is chosen and fitted without them. Next
    to it stands the plain alpha-beta fit. Series are never pooled over runs, executors, caches and types.
    """
    from ..runs.files import refuse_given
    from .work_limit import refuse_long_logs

    if output:
        refuse_given(output)
    opened_runs([path for path in runs if (path / "run.json").exists()])
    refuse_long_logs("fit", (path for path in runs if not (path / "run.json").exists()), no_limit)
    from ..models.joint import joints, local_gammas
    from ..models.listing import Listing
    from ..models.series import FittedSeries, UnfittedSeries, fit_series

    points_and_floors = _points(runs)
    points = _points_of(points_and_floors[points_and_floors["executor"] != FLOOR], algorithms)
    if ranks_per_node:
        points["nodes"] = points["nodes"].fillna(-(-points["ranks"] // ranks_per_node))
    all_series = list(fit_series(points, _priced_as(priced_as, points), own))
    fitted = [series for series in all_series if isinstance(series, FittedSeries)]
    unfit = [series for series in all_series if isinstance(series, UnfittedSeries)]
    if not fitted:
        raise OneLineError("as_said", words=_reason_for_no_fit(unfit))
    joint_fits, refusals = joints(fitted)
    listing = Listing(fitted, unfit, joint_fits, refusals, local_gammas(points_and_floors))
    if output:
        for sentence in _write_machine_file(output, points, listing):
            talk(f"{output}: {sentence}")
    click.echo(listing.table(screen()) if format_ == "table" else getattr(listing, format_)(), nl=False)
    for sentence in _lab_sentences(runs, fitted):
        talk(sentence)


def _lab_sentences(paths: tuple[Path, ...], fitted) -> list[str]:
    from ..runs.folder import RunFolder
    from ..wings import offered

    folders = [RunFolder(path) for path in paths if (path / "run.json").exists()]
    return [sentence for sentences in offered("set_rates") for sentence in sentences(folders, fitted)]


def _points(paths: tuple[Path, ...]) -> "pd.DataFrame":
    """Return the points of runs and of logs, in the columns of POINTS."""
    import pandas as pd  # late: wrong words are told before

    from ..importers import LogWarning
    from ..importers import points as points_of_log
    from ..models.model import with_grades
    from ..models.points import points as points_of_runs
    from ..runs.folder import RunFolder

    runs = [RunFolder(path) for path in paths if (path / "run.json").exists()]
    logs = [path for path in paths if not (path / "run.json").exists()]
    tell_damages(runs)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LogWarning)
        frames = [points_of_log(path) for path in logs]
    for path, frame in zip(logs, frames):
        if len(frame) and frame["ranks"].isna().all():
            raise OneLineError("cli.number_ranks_not_log", path=path)
    for warning in caught:
        talk(f"warning: {warning.message}")
    if runs:
        frames.insert(0, with_grades(points_of_runs(runs, floors=True), runs))
    return pd.concat(frames, ignore_index=True)


def _points_of(points: "pd.DataFrame", names: tuple[str, ...] | None) -> "pd.DataFrame":
    """Return the points of these algorithms. Raises OneLineError for a name without points."""
    from ..evaluation.frames import competitors

    competing = competitors(points[points["algorithm"].notna()])
    measured = sorted(set(competing))
    for name in names or ():
        if not any(_is_named(competitor, name) for competitor in measured):
            raise OneLineError("cli.not_measured_measured", name=name, measured=", ".join(measured) or "none")
    if not names:
        return points.copy()
    is_named = [any(_is_named(competitor, name) for name in names) for competitor in competitors(points)]
    return points[is_named].copy()


def _is_named(competitor: str, name: str) -> bool:
    """Return whether `name`, in which * matches anything, is that of the competitor or of its algorithm."""
    return fnmatchcase(competitor, name) or fnmatchcase(parts_of(competitor)[0], name)


def _priced_as(words: tuple[str, ...], points: "pd.DataFrame") -> Mapping[str, str]:
    """Parse `--as`: name in a log -> algorithm. Raises OneLineError; AlgorithmError for an unknown algorithm."""
    algorithms = {}
    for word in words:
        name, equals, algorithm = word.partition("=")
        if not equals or not name or not algorithm:
            raise OneLineError("cli.expected_name_algorithm_such", word=word)
        if name not in set(points["algorithm"].astype(str)):
            raise OneLineError("cli.no_points", word=word, name=name)
        (algorithms[name],) = find([algorithm]) if not algorithm.endswith(".py") else ("",)
        if not algorithms[name]:
            raise OneLineError("cli.expected_name_allreduce_bench", word=word)
    return algorithms


def _reason_for_no_fit(unfit) -> str:
    """Return a sentence that says why nothing could be fitted."""
    if not unfit:
        return say("cli.nothing_fit_no_reduce")
    first, others = unfit[0], len(unfit) - 1
    return f"{first.competitor}: {first.reason}" + (
        say("cli.more_series_cannot_fitted", others=others) if others else ""
    )


def _write_machine_file(path: Path, points: "pd.DataFrame", listing) -> list[str]:
    """Write the machine file; return the sentences about it."""
    from ..models.machine import Machine, write_machine
    from ..models.model import UNKNOWN, worst

    runs = []
    for run, rows in points.groupby("run", sort=False, dropna=False):
        counts = {name: sorted({int(value) for value in rows[name].dropna()}) for name in ("ranks", "nodes")}
        runs.append({"run": str(run), **counts, "grade": worst(rows["grade"].fillna(UNKNOWN))})
    notes = [f"not fitted: {one.competitor}: {one.reason}" for one in listing.unfit]
    notes += [f"no gamma: {reason}" for reason in listing.refused]
    for joint in listing.joint:
        gamma = joint.gamma
        notes.append(
            say(
                "cli.gamma_byte",
                gamma=gamma.value,
                low=gamma.low,
                high=gamma.high,
                competitors=", ".join(joint.competitors),
            )
        )
    created = datetime.now(timezone.utc).isoformat(timespec="seconds")
    models = tuple(series.model for series in listing.fitted if series.model.parts[0].priced_as in builtin())
    left_out = [
        f"{series.model.competitor}: {OWN_FILE_REASON}" for series in listing.fitted if series.model not in models
    ]
    notes += [f"not fitted: {reason}" for reason in left_out]
    write_machine(Machine(models, f"allreduce-bench {__version__}", created, tuple(runs), notes=tuple(notes)), path)
    return [f"{len(models)} models", *left_out]
