"""Which pictures the report has of a run, their captions, and the files of each: PNG, SVG, and its numbers as CSV."""

import base64
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from ..evaluation.cell_times import split_values
from ..evaluation.summary_row import SummaryRow
from ..models.bounds import Bounds, sources
from ..models.curves import BEATEN, REACH, choices, held, layouts, lower_bounds, over_ranks
from ..models.description import series
from ..models.model import Model
from ..runs.schema import common_start
from ..schedule.algorithm import Algorithm
from ..schedule.price import bound_path
from ..units import in_ranks, three_digits
from . import figures

PNG_DPI = 120
BARS = "Bars: from the lowest to the highest launch median (with one launch the interval of its median)."
FLOORS = "Thin grey lines: floors, the same measurement of no call, of a local copy and of a local reduction."
NO_BOUND = " No bound is drawn: this run has no model that says what a message or a byte costs."
BEATEN_IN_WORDS = f"times lie more than {100 * (1 - BEATEN):.0f} % below that of the models, which do not hold there"
INTERVALS = {  # kind of interval -> in words
    "launches": "95 % interval over launches (Student's t on logarithms)",
    "repetitions": "95 % interval of the median within launches",
    "range": "too few calls for an interval",
}
PRICES = (("alpha_s", "α"), ("beta_s_per_byte", "β"))
CURVE_POINTS = 200
CELL = ["ranks", "algorithm", "executor", "cache", "nbytes"]


class Picture(NamedTuple):
    """A figure, its words and its numbers."""

    stem: str  # of its files
    caption: str
    figure: Figure
    numbers: pd.DataFrame  # what is drawn, in SI units


def measured_caption(rows: Sequence[SummaryRow], attempts: Sequence[dict]) -> str:
    """How the times in a picture came about, in one sentence."""
    done = [row for row in rows if row["time_s"] is not None]
    if not done:
        return ""
    known = {definition for row in done for definition in split_values(row["time_definition"])}
    starts = sorted(start for definition in known if (start := common_start(definition)))
    definitions = [f"maximum over ranks from a common start ({', '.join(starts)})"] if starts else []
    definitions += sorted(definition for definition in known if not common_start(definition))
    launches = _range(int(row["launches"]) for row in done)
    calls = _range(round(row["repetitions"] / row["launches"]) for row in done)
    summary = f"median over launches; {launches} launch{'' if launches == '1' else 'es'}"
    if starts:  # our own calls; of another tool's we know their mean or median
        summary = f"median over calls, then over launches; {launches} launches × {calls} calls a cell"
    kinds = [words for kind, words in INTERVALS.items() if any(row["interval"] == kind for row in done)]
    nodes = sorted({nodes for row in done if (nodes := row.get("nodes"))})
    where = in_ranks(row["ranks"] for row in done) + (f", nodes: {', '.join(map(str, nodes))}" if nodes else "")
    libraries = dict.fromkeys(library for fact in attempts if (library := fact.get("mpi", {}).get("library")))
    times = f"Times: {', '.join(definitions) or 'of unknown definition'}"
    return "; ".join(filter(None, [times, summary, *kinds, where, ", ".join(libraries)])) + "."


def time_pictures(frame: pd.DataFrame, models: Sequence[Model]) -> list[Picture]:
    """The pictures of what was measured; the models of the run give the bounds."""
    sizes = frame.loc[frame["time_s"].notna() & (frame["nbytes"] > 0), "nbytes"]
    if sizes.empty:
        return []
    least = lower_bounds(models, frame)
    limits, rows = bound_curves(least, sizes.min(), sizes.max()), _bounded(frame, least)
    bound = _of_bound(frame, models, least)
    floors = f" {FLOORS}" if frame[[*figures.FLOORS]].notna().any(axis=None) else ""
    cold = " Hollow and dashed: cold cache." if frame["cache"].nunique() > 1 else ""
    latency = f"Time over size. {BARS}{bound}{floors}{cold}"
    bandwidth = f"Bus bandwidth, n/t · 2(p−1)/p, over size. {BARS}{bound}{cold}"
    speedup = f"Time of native over time of each algorithm: above 1 is faster than native.{cold}"
    interval = ["time_low_s", "time_high_s", "spread_low_s", "spread_high_s", "interval"]
    rate = ["busbw_bytes_per_s", "busbw_bound_bytes_per_s", "of_limit"]
    drawn = [
        ("latency", latency, figures.latency(frame, limits), ["time_s", *interval, *figures.FLOORS, "bound_s"]),
        ("bus_bandwidth", bandwidth, figures.bandwidth(frame, limits), [*rate, "time_s", *interval[2:4]]),
        ("speedup", speedup, figures.speedup(frame), ["speedup", "time_s"]),
    ]
    pictures = [Picture(stem, words, figure, rows[[*CELL, *of]]) for stem, words, figure, of in drawn if figure]
    won = figures.winners(frame)
    if (figure := figures.winner_map(frame, won)) is not None:
        pictures.append(Picture("winners", f"{_of_winners(won)}{_warm(frame)}", figure, won))
    return pictures


def model_pictures(
    frame: pd.DataFrame, models: Sequence[Model], own: Mapping[str, Algorithm]
) -> tuple[list[Picture], list[str]]:
    """The pictures of the models of a run, and why others are not drawn, sentences."""
    compared, pictures, lacking = held(frame, models, own), [], []
    if (figure := figures.fitted(compared)) is not None:
        pictures.append(Picture("models", FITTED, figure, compared))
    chosen = choices(frame, compared)
    if (figure := figures.choice_map(frame, chosen)) is not None:
        pictures.append(Picture("choices", f"{_of_choices(chosen)}{_warm(frame)}", figure, chosen))
    sizes = figures.some_sizes(frame)
    curves = over_ranks(models, sizes, own)
    if (figure := figures.over_ranks(frame, curves)) is not None:
        pictures.append(Picture("ranks", f"{OVER_RANKS}{_warm(frame)}", figure, _measured_too(curves, frame)))
    else:
        measured = in_ranks(frame.loc[frame["time_s"].notna(), "ranks"]) if frame["time_s"].notna().any() else "none"
        lacking.append(
            f"Time over ranks is not drawn: it needs a size measured at two numbers of ranks; found {measured}."
        )
    return pictures, lacking


FITTED = (
    "Models beside the times that they were fitted to. Above: time over size, points measured and lines modelled."
    " Below: model over measured, with a band of 10 % (grey) and the spread between launches (blue, median over ranks)."
    " A model that is off by less than the launches differ is as good as can be told."
)
OVER_RANKS = (
    "Time over ranks at the smallest, the middle and the largest size: points measured, bars from the lowest to the"
    f" highest launch median, lines modelled. Dashed: beyond what was measured, up to {REACH} times, with the 90 %"
    " prediction interval, which comes from errors where the model was not fitted; beyond twice it is speculative."
)


def bound_curves(least: Mapping[int, Bounds], smallest: float, largest: float) -> pd.DataFrame:
    """The bounds of `curves.lower_bounds` from `smallest` to `largest` bytes, both above 0.

    Columns: ranks, nbytes, time_s, busbw_bytes_per_s; NaN where there is no bound.
    """
    nbytes = np.geomspace(smallest, largest, CURVE_POINTS)
    curves = [pd.DataFrame({"ranks": ranks, "nbytes": nbytes}) for ranks in least]
    rows = _bounded(
        pd.concat(curves, ignore_index=True) if curves else pd.DataFrame(columns=["ranks", "nbytes"]), least
    )
    return rows.rename(columns={"bound_s": "time_s", "busbw_bound_bytes_per_s": "busbw_bytes_per_s"})


def _of_bound(frame: pd.DataFrame, models: Sequence[Model], least: Mapping[int, Bounds]) -> str:
    """From which models the bound comes, and where there is none."""
    if not models:
        return NO_BOUND
    places = layouts(frame)
    found: dict[str, set[str]] = {name: set() for name, _ in PRICES}
    for ranks in least:
        for nodes in places[ranks]:
            for name, priced in sources(models, ranks, nodes).items():
                found[name] |= {series(model) for model in priced}
    prices = [f"{symbol} of the model of {', '.join(sorted(found[name]))}" for name, symbol in PRICES if found[name]]
    said = f" The dashed bound: at the smallest fitted {' and '.join(prices)}." if prices else ""
    lacking = [ranks for ranks in places if ranks not in least]
    return said + (f" No bound is drawn at {in_ranks(lacking)}: {BEATEN_IN_WORDS}." if lacking else "")


def _of_winners(won: pd.DataFrame) -> str:
    ties = f"{(won['ties'] != '').sum()} of {len(won)}"
    return (
        "Who is fastest where. The number: time of native over time of the fastest; where native is fastest, or was not"
        f" measured, time of the second. Hatched: another cannot be told from the fastest (95 %), {ties} places."
        " Left blank: fewer than two algorithms measured."
    )


def _of_choices(chosen: pd.DataFrame) -> str:
    regret, right = chosen["regret"], (chosen["regret"] == 1).sum()
    return (
        "Left, who was fastest; right, whom the models would choose, and the regret of it where it is another: time of"
        f" that choice over time of the fastest, both measured. Regret: median {three_digits(regret.median())}, at most"
        f" {three_digits(regret.max())}; the choice is the fastest in {right} of {len(chosen)} places. The models were"
        " fitted to these times."
    )


def _warm(frame: pd.DataFrame) -> str:
    return " Warm cache." if frame["cache"].nunique() > 1 else ""


def _bounded(frame: pd.DataFrame, least: Mapping[int, Bounds]) -> pd.DataFrame:
    """`frame` with the lower bound of its times and the upper bound of its bus bandwidths, as the figures draw them."""
    none = Bounds(0.0, 0.0)
    bound_s = [
        max(least.get(ranks, none).latency_s, least.get(ranks, none).bandwidth_s * nbytes) if nbytes else 0.0
        for ranks, nbytes in zip(frame["ranks"], frame["nbytes"])
    ]
    moved = [bound_path(nbytes, ranks)[1] for ranks, nbytes in zip(frame["ranks"], frame["nbytes"])]
    rows = frame.assign(bound_s=pd.Series(bound_s, index=frame.index, dtype=float).replace(0.0, np.nan))
    return rows.assign(busbw_bound_bytes_per_s=pd.Series(moved, index=frame.index, dtype=float) / rows["bound_s"])


def _measured_too(curves: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """`curves` with the measured times at the same sizes, which may have no model."""
    sizes = figures.some_sizes(frame)
    timed = frame.loc[frame["time_s"].notna() & frame["nbytes"].isin(sizes) & (frame["ranks"] > 1)]
    columns = [*CELL, "time_s", "spread_low_s", "spread_high_s"]
    return curves.drop(columns="measured").merge(timed[columns], how="outer", on=CELL)


def _range(values) -> str:
    known = sorted(set(values))
    return str(known[0]) if len(known) == 1 else f"{known[0]} to {known[-1]}"


def write_pictures(picture: Picture, beside: Path, prefix: str) -> dict[str, str]:
    """Write the PNG, SVG and CSV files of `picture` into `beside`; return what the page needs of it.

    That is its caption, the SVG as a data: URI, and the relative addresses of its files.
    """
    paths = {kind: beside / f"{prefix}{picture.stem}.{kind}" for kind in ("png", "svg", "csv")}
    picture.figure.dpi = PNG_DPI
    file = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": picture.stem}):  # the same run gives the same page
        # not by savefig, which draws everything twice
        FigureCanvasAgg(picture.figure).print_png(paths["png"], metadata={"Software": None})
        picture.figure.set_layout_engine("none")  # it is laid out, which takes longest
        FigureCanvasSVG(picture.figure).print_svg(file, metadata={"Date": None, "Creator": None})
    paths["svg"].write_bytes(file.getvalue())
    picture.numbers.to_csv(paths["csv"], index=False, float_format="%.9g")
    data = "data:image/svg+xml;base64," + base64.b64encode(file.getvalue()).decode("ascii")
    addresses = {kind: quote(f"{beside.name}/{path.name}") for kind, path in paths.items()}
    return {"caption": picture.caption, "data": data, "stem": picture.stem, **addresses}
