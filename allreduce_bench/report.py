"""One self-contained HTML page about finished runs: verdict, pictures, warnings, tables, and how it was measured.

The page holds its figures and its style, needs no network and runs no script. Whatever comes from outside (host names,
commands, file names, reasons) is escaped by the template engine.
"""

import base64
import io
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import matplotlib
import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from matplotlib.figure import Figure

from . import __version__, agreement, caveats, distribution, figures, losses, origin, provenance
from .dtypes import is_float
from .fit import bounds, fit
from .plan import Plan
from .runfolder import RunFolder
from .store import run_names, summary_frame
from .summary import Summary, competing, summarise
from .table import MARK
from .units import format_size, in_ranks, three_digits
from .verdict import verdicts

PNG_DPI = 120
BARS = "Bars: from the lowest to the highest launch median (with one launch the interval of its median)."
FLOORS = "Thin grey lines: floors, the same measurement of no call, of a local copy and of a local reduction."
BEYOND = " The dashed bound is fitted over all sizes of all algorithms, so a single size can lie beyond it."


class Picture(NamedTuple):
    """A figure and its words."""

    stem: str  # of its PNG file
    caption: str
    figure: Figure


def write_report(folders: Sequence[RunFolder], output: Path) -> Path:
    """Write the page about `folders` to `output`, and its figures as PNG files to `<output stem>_figures/` beside it.

    Returns `output`. Missing parent folders are made; nothing is written before all runs were read. Raises RunError.
    """
    sections = [_section(folder, name) for name, folder in zip(run_names(folders), folders)]
    beside = output.with_name(f"{output.stem}_figures")
    beside.mkdir(parents=True, exist_ok=True)
    for number, (folder, section) in enumerate(zip(folders, sections), start=1):
        prefix = f"{number}_" if len(sections) > 1 else ""
        section["links"] = _links(folder, output.parent)
        section["pictures"] = [_embedded(picture, beside, prefix) for picture in section["pictures"]]
    page = _template().render(sections=sections, version=__version__)
    output.write_text(page, encoding="utf-8")
    return output


def _template():
    engine = Environment(
        loader=PackageLoader("allreduce_bench"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    engine.filters |= {"ulps": agreement.ulps, "size": format_size, "digits": three_digits, "in_ranks": in_ranks}
    return engine.get_template("report.html.j2")


def _section(folder: RunFolder, name: str) -> dict[str, Any]:
    """What the template says about one run. Raises RunError."""
    run, plan, rows, attempts = folder.open(), folder.plan(), summarise(folder), folder.attempts()
    imported = folder.imported()
    frame = summary_frame(competing(rows), name)
    fits = fit(frame)
    return {
        "name": name,
        "plan": plan,
        "date": "" if imported else str(run.get("created", ""))[:10],
        "hosts": list(dict.fromkeys(host for fact in attempts for host in fact.get("hosts", []))),
        "libraries": list(
            dict.fromkeys(library for fact in attempts if (library := fact.get("mpi", {}).get("library")))
        ),
        "findings": caveats.findings(rows, attempts),
        "verdicts": _matrix(rows),
        "pictures": _pictures(frame, fits),
        "carried": [words for _, words in provenance.carried(rows)],
        "gaps": caveats.gaps(rows),
        "bits": agreement.lines(rows) if plan.check == "bits" else [],
        "no_bits": agreement.why_not_compared(plan) if plan.check == "bits" and not is_float(plan.dtype) else "",
        "tables": [
            _table(plan, ranks, cache, of)
            for ranks in plan.ranks
            for cache in plan.caches
            if (of := [row for row in rows if (row["ranks"], row["cache"]) == (ranks, cache)])
        ],
        "marks": {kind: mark.strip() for kind, mark in MARK.items()},
        "fits": fits.astype(object).where(fits.notna(), None).to_dict("records"),
        **_words(plan, imported, rows, attempts),
        "environment": provenance.environment(attempts),
        "started_as": shlex.join(str(word) for word in run.get("command", [])),
        "command": shlex.join(run.get("command", []) if imported else provenance.repeat_command(plan)),
    }


def _words(plan: Plan, imported: dict | None, rows: Sequence[Summary], attempts: Sequence[dict]) -> dict[str, Any]:
    """What was measured and how: by us, or by another tool as far as its logs say."""
    if imported:
        done = [row for row in rows if row["time_s"] is not None]
        return {
            "imported": origin.source(imported),
            "operation": origin.operation(plan, imported),
            "times": f"times are {origin.definition(done)}; median over launches",
            "method": origin.method(plan, imported, rows, attempts),
        }
    return {
        "imported": "",
        "operation": f"{plan.dtype} {plan.op}, out of place",
        "times": "times are the maximum over ranks, median over calls and launches",
        "method": provenance.method(plan, rows, attempts),
    }


def _matrix(rows: Sequence[Summary]) -> dict[str, dict[int, dict[str, str]]]:
    """Class of sizes -> ranks -> its verdict, with the words that are set in bold apart."""
    matrix: dict[str, dict[int, dict[str, str]]] = {}
    for verdict in verdicts(rows):
        undecided = ("no clear winner", "no single winner")
        leads = [lead for lead in (verdict.winner, *undecided) if lead and verdict.sentence.startswith(lead)]
        lead = leads[0] if leads else ""
        cell = {"lead": lead, "rest": verdict.sentence[len(lead) :]}
        matrix.setdefault(verdict.sizes, {})[verdict.ranks] = cell
    return matrix


def _table(plan: Plan, ranks: int, cache: str, rows: Sequence[Summary]) -> dict[str, Any]:
    """The times of one rank count and cache: a line for each size, in it a row of the summary for each algorithm."""
    lines = []
    for nbytes in sorted({row["nbytes"] for row in rows}):
        row_of = {str(row["algorithm"]): row for row in competing(rows) if row["nbytes"] == nbytes}
        best = next((row for row in row_of.values() if row.get("rank_of_best") == "best"), None)
        some = next(iter(row_of.values()))
        lines.append(
            {"nbytes": nbytes, "row_of": row_of, "best": best, "floors": [some[name] for name in figures.FLOORS]}
        )
    oversubscribed = any(row["oversubscribed"] for row in rows)
    declared = next((row["nodes_declared"] for row in rows if row.get("nodes_declared")), None)
    limited = any(row.get("of_limit") for row in rows)
    floors = any(row[name] for row in rows for name in figures.FLOORS)
    marks = {"oversubscribed": oversubscribed, "declared": declared, "limited": limited, "floors": floors}
    marks |= {"groups": rows[0].get("groups_in_words"), "losses": losses.lines(rows) if plan.groups else []}
    return {"ranks": ranks, "cache": cache, "lines": lines, "statistics": distribution.tables(rows), **marks}


def _pictures(frame: pd.DataFrame, fits: pd.DataFrame) -> list[Picture]:
    """The figures that the run has data for."""
    sizes = frame.loc[frame["time_s"].notna() & (frame["nbytes"] > 0), "nbytes"]
    if sizes.empty:
        return []
    limits = bounds(fits, sizes.min(), sizes.max())
    beyond = BEYOND if limits["time_s"].notna().any() else ""
    floors = f" {FLOORS}" if frame[[*figures.FLOORS]].notna().any(axis=None) else ""
    cold = " Hollow and dashed: cold cache." if frame["cache"].nunique() > 1 else ""
    drawn = [
        ("latency", f"Time over size. {BARS}{beyond}{floors}{cold}", figures.latency(frame, limits)),
        (
            "bus_bandwidth",
            f"Bus bandwidth, n/t · 2(p−1)/p, over size. {BARS}{beyond}{cold}",
            figures.bandwidth(frame, limits),
        ),
        (
            "speedup",
            f"Time of native over time of each algorithm: above 1 is faster than native.{cold}",
            figures.speedup(frame),
        ),
    ]
    return [Picture(stem, caption, figure) for stem, caption, figure in drawn if figure is not None]


def _embedded(picture: Picture, beside: Path, prefix: str) -> dict[str, str]:
    """Write the PNG file; return what the page needs: words, an SVG as a data: URI, the file's relative address."""
    path = beside / f"{prefix}{picture.stem}.png"
    picture.figure.savefig(path, dpi=PNG_DPI, metadata={"Software": None})
    file = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": picture.stem}):  # the same run gives the same page
        picture.figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    data = "data:image/svg+xml;base64," + base64.b64encode(file.getvalue()).decode("ascii")
    return {"caption": picture.caption, "data": data, "png": quote(f"{beside.name}/{path.name}"), "stem": picture.stem}


def _links(folder: RunFolder, start: Path) -> list[tuple[str, str]]:
    """(name, relative address) of the run's files that exist and that a reader may want."""
    found = [path for path in (folder.summary_csv, folder.run_json) if path.is_file()]
    return [(path.name, quote(Path(os.path.relpath(path, start)).as_posix())) for path in found]
