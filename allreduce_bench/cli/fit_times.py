"""The work of `fit`: the points of runs and logs, the fits of their series, the machine file."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from fnmatch import fnmatchcase
from math import inf
from pathlib import Path

import pandas as pd

from .. import __version__
from ..algorithms import FILES, find
from ..evaluation.limits import link_of
from ..importers.frame import points_of_logs
from ..models.fitting import UnfittedSeries, fit_series, local_gammas
from ..models.listing import Listing
from ..models.machine import Machine, write_machine
from ..models.model import UNKNOWN, Model, drop_rates_above, worst
from ..models.points import points as points_of_runs
from ..report.table import libraries_of
from ..runs.competitor import Competitor
from ..runs.folder import RunFolder, run_names, unique_names
from ..wings import load_offers
from .types import OneLineError, tell_damages, told_warnings


def fit_times(
    paths: Sequence[Path],
    names: tuple[str, ...] | None,
    priced_as: tuple[str, ...],
    ranks_per_node: int | None,
) -> tuple[Listing, pd.DataFrame]:
    """Return what was fitted to the runs and logs, and the points; the parameters are options of `fit`.

    Raises OneLineError if nothing could be fitted, and for what cannot be read.
    """
    points = _points_of(_points(paths), names)
    if ranks_per_node:
        points["nodes"] = points["nodes"].fillna(-(-points["ranks"] // ranks_per_node))
    all_series = fit_series(points, _priced_as(priced_as, points))
    rates = _link_rates(paths)
    models = [drop_rates_above(one, rates.get(one.run, inf)) for one in all_series if isinstance(one, Model)]
    unfit = [one for one in all_series if isinstance(one, UnfittedSeries)]
    if not models:
        raise OneLineError(_reason_for_no_fit(unfit))
    return Listing(models, unfit, local_gammas(_runs(paths))), points


def _runs(paths: Sequence[Path]) -> list[RunFolder]:
    return [RunFolder(path) for path in paths if (path / "run.json").exists()]


def _link_rates(paths: Sequence[Path]) -> dict[str, float]:
    """Return the rate of a node's link of each run where it is known, in bytes per second, by the run's name."""
    folders = _runs(paths)
    links = {
        name: link_of(folder.plan(), [row for row in folder.marks() if row.get("wire")], folder.attempts())
        for name, folder in zip(run_names(folders), folders)
    }
    return {name: link.rate_bytes_per_s for name, link in links.items() if link}


def _points(paths: Sequence[Path]) -> pd.DataFrame:
    """Return the points of runs and of logs, in the columns of POINTS."""
    runs = _runs(paths)
    logs = [path for path in dict.fromkeys(paths) if not (path / "run.json").exists()]
    tell_damages(runs)
    with told_warnings():
        names = dict(zip(each := [*dict.fromkeys(paths)], unique_names(each)))
        frames = points_of_logs({path: names[path] for path in logs})
    for path, frame in zip(logs, frames):
        if len(frame) and frame["ranks"].isna().all():
            raise OneLineError(f"{path}: the number of ranks is not in the log; import it first: 'import -n N'")
    if runs:
        frames.insert(0, _by_library(points_of_runs(runs), runs))
    return pd.concat(frames, ignore_index=True)


def _by_library(points: pd.DataFrame, runs: Sequence[RunFolder]) -> pd.DataFrame:
    """Return the points of runs, in which each library of a run of several ones, an imported one, is a run."""
    named = points["run"].copy()
    for name, folder in zip(run_names(runs), runs):
        library_of = {fact["launch"]: libraries_of([fact]) for fact in folder.attempts()}
        if len({*library_of.values()}) > 1:
            own = points["run"] == name
            of_launches = points.loc[own, "launch"].map(library_of).replace("", "library unknown")
            named[own] = f"{name}, " + of_launches
    return points.assign(run=named)


def _points_of(points: pd.DataFrame, names: tuple[str, ...] | None) -> pd.DataFrame:
    """Return the points of these algorithms. Raises OneLineError for a name without points."""
    competing = points["competitor"].dropna()
    measured = sorted(set(competing))
    for name in names or ():
        if not any(_is_named(competitor, name) for competitor in measured):
            raise OneLineError(f"-a {name}: not measured; measured: {', '.join(measured) or 'none'}")
    if not names:
        return points.copy()
    is_named = [any(_is_named(competitor, name) for name in names) for competitor in points["competitor"]]
    return points[is_named].copy()


def _is_named(competitor: str, name: str) -> bool:
    """Return whether `name`, in which * matches anything, is that of the competitor or of its algorithm."""
    return fnmatchcase(competitor, name) or fnmatchcase(Competitor(competitor).algorithm, name)


def _priced_as(words: tuple[str, ...], points: pd.DataFrame) -> Mapping[str, str]:
    """Parse `--as`: name in a log -> algorithm. Raises OneLineError; AlgorithmError for an unknown algorithm."""
    algorithms = {}
    for word in words:
        name, equals, algorithm = word.partition("=")
        if not equals or not name or not algorithm:
            raise OneLineError(f"--as {word}: expected NAME=ALGORITHM, such as ring_over=ring")
        if name not in {Competitor(each).algorithm for each in points["competitor"].astype(str)}:
            raise OneLineError(f"--as {word}: no points of '{name}'")
        (algorithms[name],) = find([algorithm]) if not algorithm.endswith(FILES) else ("",)
        if not algorithms[name]:
            raise OneLineError(f"--as {word}: expected a name of 'allreduce-bench list'")
    return algorithms


def _reason_for_no_fit(unfit: Sequence[UnfittedSeries]) -> str:
    """Return a sentence that says why nothing could be fitted."""
    if not unfit:
        return "nothing to fit: no all-reduce has a time above 0"
    first, others = unfit[0], len(unfit) - 1
    return f"{first.competitor}: {first.reason}" + (
        f" (and {others} more series that cannot be fitted)" if others else ""
    )


def write_machine_file(path: Path, points: pd.DataFrame, listing: Listing) -> None:
    """Write the machine file. Raises OSError."""
    runs = []
    for run, rows in points.groupby("run", sort=False, dropna=False):
        counts = {name: sorted({int(value) for value in rows[name].dropna()}) for name in ("ranks", "nodes")}
        runs.append({"run": str(run), **counts, "grade": worst(rows["grade"].fillna(UNKNOWN))})
    notes = [f"not fitted: {one.competitor}: {one.reason}" for one in listing.unfit]
    created = datetime.now(timezone.utc).isoformat(timespec="seconds")
    models, program = tuple(listing.models), f"allreduce-bench {__version__}"
    write_machine(Machine(models, program, created, tuple(runs), notes=tuple(notes)), path)


def lab_sentences(paths: Sequence[Path], models: Sequence[Model]) -> list[str]:
    """Return the sentences of virtual hosts about what was fitted over their links, whose rates are known."""
    folders = _runs(paths)
    return [sentence for sentences in load_offers("set_rates") for sentence in sentences(folders, models)]
