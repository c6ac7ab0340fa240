"""One self-contained HTML page about finished runs: verdict, figures, warnings, tables, and how it was measured.

The page holds its figures and its style, needs no network and runs no script. The template engine escapes all text
from outside (host names, commands, file names, reasons).
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from .. import __version__
from ..evaluation import agreement, group_losses
from ..evaluation.competitors import competing, competitor_names
from ..evaluation.frames import run_names, summary_frame
from ..evaluation.missing import MissingCell, explain_rows, not_begun_sentences
from ..evaluation.summary import summarise
from ..evaluation.summary_row import SummaryRow, competitor_of
from ..evaluation.verdict import verdicts
from ..models import description
from ..models.bounds import Bounds
from ..models.curves import NO_OWN, lower_bounds
from ..models.model import Model
from ..models.native.guidelines import broken_guidelines, comparisons, guidelines_sentence
from ..models.native.resemblance import NoResemblance, resemblance_frame, resemblance_sentences, resemblances_of
from ..models.points import points_of_summary
from ..models.series import FittedSeries, UnfittedSeries, fit_series
from ..runs.atomic_write import refuse_special, write_atomically
from ..runs.command_of_plan import repeat_command
from ..runs.dtypes import is_float
from ..runs.folder import RunFolder
from ..runs.merge_sources import merged_sources, merged_sources_sentence
from ..runs.plan import Plan
from ..schedule.algorithm import Algorithm
from ..units import format_size, in_ranks, three_digits
from . import caveats, distribution, figures, how_imported, how_measured, verdict_sentence
from .caveat import gaps
from .damage_sentence import damage_caveats, damage_report
from .grade_sentence import grade_lines
from .grid import LEGEND, MARK, lowest_of, winner_of
from .limit_table import limit_lines
from .page_place import fingerprints, links
from .pictures import measured_caption, model_pictures, time_pictures, write_pictures
from .ratio_table import RatioLine

CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def write_report(
    folders: Sequence[RunFolder],
    output: Path,
    own: Mapping[str, Algorithm] = NO_OWN,
    missing: Sequence[Sequence[MissingCell]] = (),
    ratios: Sequence[RatioLine] = (),
) -> Path:
    """Write the page about `folders` to `output`, and its figures, as PNG, SVG and CSV files, to
    `<output stem>_figures/` beside it.

    `own`: a user's own algorithms by name, so that they have models. `missing`: for each folder the cells that jobs
    should have measured and did not; empty: none. `ratios`: the table of `make ratios`; empty: none. Returns
    `output`. Creates missing parent folders; writes nothing before all runs were read. Raises RunError; OSError where
    `output` exists and is no regular file.
    """
    refuse_special(output)
    missing_of = missing or [()] * len(folders)
    sections = [_section(*run, own) for run in zip(folders, run_names(folders), missing_of, strict=True)]
    beside = output.with_name(f"{output.stem}_figures")
    beside.mkdir(parents=True, exist_ok=True)
    for number, (folder, section) in enumerate(zip(folders, sections), start=1):
        prefix = f"{number}_" if len(sections) > 1 else ""
        section["links"] = links(folder, output.parent)
        for name in ("pictures", "model_pictures"):
            section[name] = [write_pictures(picture, beside, prefix) for picture in section[name]]
        for name, table in section.pop("files").items():
            write_atomically(beside / f"{prefix}{name}.csv", table.to_csv(index=False, float_format="%.9g"))
            section["tables_written"][name] = quote(f"{beside.name}/{prefix}{name}.csv")
    page = _template().render(sections=sections, runs=fingerprints(folders), version=__version__, ratios=ratios)
    write_atomically(output, page)
    return output


def _without_controls(value: object) -> object:
    """A text of outside without the characters that steer a terminal."""
    return type(value)(CONTROLS.sub("\N{REPLACEMENT CHARACTER}", value)) if isinstance(value, str) else value


def _template():
    engine = Environment(
        loader=PackageLoader("allreduce_bench.report"),
        autoescape=True,
        finalize=_without_controls,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    engine.filters |= {"ulps": agreement.ulps, "size": format_size, "digits": three_digits, "in_ranks": in_ranks}
    return engine.get_template("report.html.j2")


def _section(
    folder: RunFolder, name: str, missing: Sequence[MissingCell], own: Mapping[str, Algorithm]
) -> dict[str, Any]:
    """The template's values for one run. Raises RunError."""
    plan, attempts = folder.plan(), folder.attempts()
    rows = explain_rows(summarise(folder), missing)
    frame = summary_frame(competing(rows), name)
    native = _native_section(plan, rows)
    models, unfit = _models(points_of_summary(rows, attempts, name), own)
    least = lower_bounds(models, frame)
    modelled = _models_section(frame, models, unfit, own)
    return {
        "name": name,
        "plan": plan,
        "competitors": competitor_names(rows, plan.algorithms),
        **_origin(folder, plan, rows, attempts),
        "findings": [
            *damage_caveats(damage_report(folder)),
            *caveats.find_caveats(rows, attempts, not_begun_sentences(plan, missing)),
        ],
        "grades": grade_lines(rows),
        "verdicts": [(verdict.ranks, verdict.cache, verdict_sentence.lines(verdict)) for verdict in verdicts(rows)],
        "pictures": time_pictures(frame, models),
        "how": measured_caption(rows, attempts),
        **native,
        **modelled,
        "files": native["files"] | modelled["files"],
        "tables_written": {},
        "carried": [words for _, words in how_measured.carried(rows)],
        "gaps": gaps(rows),
        "bits": agreement.agreements(rows) if plan.check == "bits" else [],
        "no_bits": agreement.why_not_compared(plan) if plan.check == "bits" and not is_float(plan.dtype) else "",
        "tables": [
            _table(plan, ranks, cache, of, least.get(ranks))
            for ranks, cache in product(plan.ranks, plan.caches)
            if (of := [row for row in rows if (row["ranks"], row["cache"]) == (ranks, cache)])
        ],
        "marks": {kind: mark.strip() for kind, mark in MARK.items()},
        "legend": LEGEND,
    }


def _origin(folder: RunFolder, plan: Plan, rows: Sequence[SummaryRow], attempts: Sequence[dict]) -> dict[str, Any]:
    """When, where and how the run was measured, and the command that repeats it. Raises RunError."""
    run, imported = folder.open(), folder.imported()
    libraries = (library for fact in attempts if (library := fact.get("mpi", {}).get("library")))
    return {
        "date": "" if imported else str(run.get("created", ""))[:10],
        "hosts": list(dict.fromkeys(host for fact in attempts for host in fact.get("hosts", []))),
        "libraries": list(dict.fromkeys(libraries)),
        **_method(plan, imported, rows, attempts, merged_sources(folder)),
        "environment": how_measured.environment(attempts),
        "started_as": shlex.join(str(word) for word in run.get("command", [])),
        "command": shlex.join(run.get("command", []) if imported else repeat_command(plan)),
    }


def _method(
    plan: Plan, imported: dict | None, rows: Sequence[SummaryRow], attempts: Sequence[dict], merged: Sequence[dict]
) -> dict[str, Any]:
    """What was measured and how: by this program, or by another tool as far as its logs state it."""
    if imported:
        done = [row for row in rows if row["time_s"] is not None]
        return {
            "imported": how_imported.source(imported),
            "operation": how_imported.operation(plan, imported),
            "times": f"times are {how_imported.definition(done)}; median over launches",
            "method": how_imported.method(plan, imported, rows, attempts),
        }
    return {
        "imported": "",
        "operation": f"{plan.dtype} {plan.op}, out of place",
        "times": "times are the maximum over ranks, median over calls and launches",
        "method": how_measured.method(plan, rows, attempts)
        + ([("merged from", merged_sources_sentence(merged))] if merged else []),
    }


def _table(plan: Plan, ranks: int, cache: str, rows: Sequence[SummaryRow], least: Bounds | None) -> dict[str, Any]:
    """The times of one rank count and cache: a line for each size, in it a row of the summary for each algorithm."""
    lines = []
    for nbytes in sorted({row["nbytes"] for row in rows}):
        row_of = {competitor_of(row): row for row in competing(rows) if row["nbytes"] == nbytes}
        lowest = lowest_of(row_of.values())
        some = next(iter(row_of.values()))
        winner, floors = winner_of(lowest) if lowest else "", [some[name] for name in figures.FLOORS]
        lines.append({"nbytes": nbytes, "row_of": row_of, "lowest": lowest, "winner": winner, "floors": floors})
    declared = next((row["nodes_declared"] for row in rows if row.get("nodes_declared")), None)
    marks = {
        "oversubscribed": any(row["oversubscribed"] for row in rows),
        "declared": declared,
        "floors": any(row[name] for row in rows for name in figures.FLOORS),
    }
    groups = {"groups": rows[0].get("groups_in_words"), "losses": group_losses.loss_rows(rows) if plan.groups else []}
    tables = {"limits": limit_lines(rows, least), "statistics": distribution.tables(rows)}
    return {"ranks": ranks, "cache": cache, "lines": lines, **tables, **marks, **groups}


def _models(points: pd.DataFrame, own: Mapping[str, Algorithm]) -> tuple[list[Model], list[tuple[str, str]]]:
    """The models of the series of a run, and (series, reason) for each series without a model."""
    fits = list(fit_series(points, own=own))
    unfit = [(fit.competitor, fit.reason) for fit in fits if isinstance(fit, UnfittedSeries)]
    return [fit.model for fit in fits if isinstance(fit, FittedSeries)], unfit


def _models_section(
    frame: pd.DataFrame, models: Sequence[Model], unfit: Sequence[tuple[str, str]], own: Mapping[str, Algorithm]
) -> dict[str, Any]:
    """The page's values about the models of a run; `own`: algorithms from a user's own files."""
    if frame["groups"].notna().any():  # they have no points
        unfit = [("all series", "several groups share links at the same time; the models do not cover that")]
    pictures, reasons = model_pictures(frame, models, own)
    files = {"parameters": description.parameter_frame(models)} if models else {}
    scores = list(description.SCORES.values())
    content = {"models": description.model_lines(models), "unfit": unfit, "scores": scores, "not_drawn": reasons}
    return {**content, "model_pictures": pictures, "files": files}


def _native_section(plan: Plan, rows: Sequence[SummaryRow]) -> dict[str, Any]:
    """The page's values about native: what it resembles, and which guidelines it violates."""
    files: dict[str, pd.DataFrame] = {}
    likeness: dict[str, Any] = {"why": "", "sentences": [], "lines": {}, "ranks": {}}
    try:
        if plan.groups:
            raise NoResemblance("several groups share links at the same time")
        guesses = resemblances_of(rows)
        ranks = {guess.ranks: guess.stray for guess in guesses}
        lines = {
            n: {guess.ranks: guess for guess in guesses if guess.nbytes == n}
            for n in sorted({guess.nbytes for guess in guesses})
        }
        likeness |= {"sentences": resemblance_sentences(guesses), "lines": lines, "ranks": ranks}
        files["resemblance"] = resemblance_frame(guesses)
    except NoResemblance as reason:
        likeness["why"] = str(reason)
    compared = comparisons(rows)
    guidelines = {"compared": compared, "lines": broken_guidelines(compared), "sentence": guidelines_sentence(compared)}
    files |= {"guidelines": pd.DataFrame(compared)} if compared else {}
    return {"likeness": likeness, "guidelines": guidelines, "files": files}
