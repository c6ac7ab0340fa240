"""The HTML page about finished runs, and its first lines: the fastest algorithm at the most common size, whether to
trust it, and what to do next.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from errno import EEXIST
from functools import cache
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import pandas as pd
from jinja2 import Environment

from .. import __version__
from ..evaluation import agreement
from ..evaluation.competing import competing, competitor_names, defaults, mockups
from ..evaluation.grade import GOOD, GRADES, NOT_RELIABLE
from ..evaluation.missing import MissingCell, explain_rows, not_begun_sentences
from ..evaluation.summary import summarise, summary_frame
from ..evaluation.summary_row import SummaryRow, time_of
from ..evaluation.verdict import ALL_EQUAL, EQUAL, UNCLEAR, Stretch, Verdict, verdicts
from ..machine.forks import in_forks
from ..models import words as model_words
from ..models.bounds import Bounds
from ..models.curves import lower_bounds
from ..models.fitting import UnfittedSeries, fit_series
from ..models.model import NO_OWN, Model
from ..models.points import points_of_summary
from ..runs.competitor import MOCKUPS, NATIVES, Competitor
from ..runs.dtypes import is_float
from ..runs.files import open_kept, read_kept, refuse_special, write_atomically, written_together
from ..runs.folder import RunFolder, run_names
from ..runs.identified import identified_of
from ..runs.plan import Plan
from ..runs.schema import state_words
from ..schedule.algorithm import Algorithm
from ..stats import median
from ..units import format_size, format_time, in_ranks, three_digits
from ..watching.progress import Progress, unsaid
from ..web import asset, data_address, engine, policy, script_data, theme
from ..wings import load_offers
from . import caveats, how_measured, verdict_sentence
from .caveats import gaps
from .damage_sentence import damage_caveats, damage_report
from .distribution import call_distributions, time_table
from .grid import LEGEND, MARK, brief_state
from .headline import headline
from .how_measured import origin
from .live_chart import Switch
from .native_section import native_section
from .paper import Paper, write_panels
from .pictures import Sketch, measured_caption, model_pictures, run_pictures, time_pictures, write_pictures
from .ratio_table import RatioLine
from .unbroken import with_algorithms_at_work
from .verdict_sentence import (
    CROSSOVER,
    MARGIN,
    MOST_NAMED,
    REASONS,
    advantage_words,
    contrast_sentences,
    grade_lines,
    leaders_words,
    lines,
    noise_of_all,
    performance_words,
    printed_factor,
    reason_words,
    sizes_words,
    span_words,
)
from .winner_table import winner_table

ASKED_NBYTES = 1 << 20  # if not measured, the nearest size


class Answer(NamedTuple):
    """The first screen about a run."""

    sentence: str  # the fastest, and by how much
    level: str  # the worst grade of the rank counts
    advice: str  # what to do next


def answer(
    rows: Sequence[SummaryRow], verdicts: Sequence[Verdict], attempts: Sequence[Mapping[str, Any]] = ()
) -> Answer | None:
    """Return the answer of the largest rank count that has a verdict; None if none has.

    Of a single algorithm it describes its times alone; `attempts`, the facts of its launches, name the logs.
    """
    if not verdicts:
        return None
    asked, size_bytes, at_size = _asked(rows, verdicts)
    stretch = _stretch_at(asked, size_bytes)
    place = f"{format_size(size_bytes)} on {in_ranks([asked.ranks])}"
    grades = {row["ranks"]: row["grading"] for row in rows}
    level = max((grade.level for grade in grades.values()), key=GRADES.index)
    advice = _advice(asked, stretch, grades[asked.ranks].reasons, at_size)
    if asked.alone:
        said = f"{asked.alone.algorithm} on {in_ranks([asked.ranks])}: {performance_words(asked.alone)}"
        return Answer("; ".join([said, *contrast_sentences(rows, attempts)]) + ".", level, advice)
    winner = _winner(asked, stretch, size_bytes)
    who = f"{winner} is the fastest" if winner else "No algorithm is shown to be the fastest"
    how_much = ", but at this size alone" if winner and not stretch else _how_much(asked, stretch, at_size)
    return Answer(f"{who} at {place}{_format_winner(winner, at_size)}{how_much}.", level, advice)


def _asked(rows: Sequence[SummaryRow], verdicts: Sequence[Verdict]) -> tuple[Verdict, int, list[SummaryRow]]:
    """Return the verdict of the largest rank count, the size that is asked for there, and the rows of that size."""
    asked = max(verdicts, key=lambda verdict: verdict.ranks)
    sizes = sorted(
        {row["size_bytes"] for row in rows if row["ranks"] == asked.ranks and row["time_s"] and row["size_bytes"]}
    )
    size_bytes = min(max(ASKED_NBYTES, sizes[0]), sizes[-1]) if sizes else ASKED_NBYTES
    return asked, size_bytes, [row for row in rows if (row["ranks"], row["size_bytes"]) == (asked.ranks, size_bytes)]


def switches(verdicts: Sequence[Verdict]) -> dict[int, list[Switch]]:
    """Return the crossovers of each rank count, for the figures over size."""
    found: dict[int, list[Switch]] = {}
    for verdict in verdicts:
        words = [str(line) for line in lines(verdict) if line.lead == CROSSOVER]
        overs = [over for over in verdict.hand_overs if over]
        found[verdict.ranks] = [Switch(over.size_bytes, over.low, over.high, text) for over, text in zip(overs, words)]
    return found


def _stretch_at(verdict: Verdict, size_bytes: int) -> Stretch | None:
    around = [stretch for stretch in verdict.stretches if stretch.low <= size_bytes <= stretch.high]
    return next((stretch for stretch in around if size_bytes not in stretch.exceptions), None)


def _winner(verdict: Verdict, stretch: Stretch | None, size_bytes: int) -> str:
    """Return who is the fastest at a size; empty: nobody is shown to be."""
    if stretch:
        return stretch.leaders[0] if stretch.is_won else ""
    return dict(verdict.single).get(size_bytes, "")


def _format_winner(winner: str, at_size: Sequence[SummaryRow]) -> str:
    """Return ` (127 ms, 1.96 times as fast as native)`: the winner at the size itself."""
    row = next((row for row in at_size if row["competitor"] == winner), None)
    if not row or not row["time_s"]:
        return ""
    beside = Competitor(row["competitor"]).native_beside
    native = next((other for other in at_size if other["competitor"] == beside and other is not row), None)
    if native is None or row["speedup"] is None:
        return f" ({format_time(row['time_s'])})"
    gain = printed_factor(time_of(native), row["time_s"])
    return f" ({format_time(row['time_s'])}, {three_digits(gain)} times as fast as native)"


def _how_much(verdict: Verdict, stretch: Stretch | None, at_size: Sequence[SummaryRow]) -> str:
    if stretch is None:
        leaders = tuple(row["competitor"] for row in at_size if row.get("standing") in (EQUAL, UNCLEAR))
        if verdict.reason not in ("", ALL_EQUAL) or len(leaders) < 2:
            return f": {REASONS.get(verdict.reason, 'the times at this size do not show a winner')}"
        is_equal = all(row.get("standing") != UNCLEAR for row in at_size)
        return f": {_names(leaders)} {_relation(is_equal)}"
    advantage = advantage_words(stretch.advantage, verdict.grade, stretch.leaders[0] in NATIVES)
    factor = f", {sizes_words(stretch)} {advantage}" if advantage else ""
    if stretch.is_won:
        return factor
    if len(stretch.leaders) == 1:
        return f"; {stretch.leaders[0]} is nowhere slower than another{factor}"
    return f": {_names(stretch.leaders)} {_relation(stretch.is_equal)}{factor}"


def _names(leaders: Sequence[str]) -> str:
    """Return `native, ring and two_tree`."""
    return (
        f"{', '.join(leaders[:-1])} and {leaders[-1]}" if len(leaders) <= MOST_NAMED else f"{len(leaders)} algorithms"
    )


def _relation(is_equal: bool) -> str:
    return f"are equal within {MARGIN}" if is_equal else "cannot be distinguished"


def _advice(verdict: Verdict, stretch: Stretch | None, reasons: Sequence, at_size: Sequence[SummaryRow]) -> str:
    """Return what to do next: fix what spoils the times, else use the winner."""
    if verdict.grade != GOOD and reasons:
        found, mend = reason_words(reasons[0])
        return f"{found}: {mend}, and measure again before you decide."
    if stretch and stretch.is_won and stretch.leaders[0] not in NATIVES:
        return f"use {stretch.leaders[0]} for {span_words(stretch)} on {in_ranks([verdict.ranks])}."
    if verdict.alone:
        return "measure another algorithm beside it, or another system, to compare them: allreduce-bench compare."
    if stretch:
        return f"keep {leaders_words(stretch)}; another algorithm gains nothing here."
    if EQUAL in (standings := [row.get("standing") for row in at_size]) and UNCLEAR not in standings:
        return "keep what runs now; another algorithm gains nothing here."
    return "measure again with more launches (--launches) before you choose."


# One self-contained HTML page about finished runs: answer, figures, times, how they were measured, statistics
#
# The page holds its figures, style and script, and needs no network. It is complete without the script, which makes
# figures interactive and tables sortable. The template engine escapes all text from outside (host names, commands, file
# names, reasons), and the page's content security policy runs only its own script: see `web`. Sections with
# large errors are folded, and begin with a line that says so.
#
# A default name (`default_page`) never replaces a page about other runs. A page about one run is in its folder, one
# about several runs in the working folder: beside the runs its folder of figures would be taken for one of them. Each
# page names its runs in its head, by fingerprints of their run.json, which never changes.


# names of pages
HEAD_NBYTES = 1 << 16  # of a page: searched for its runs
NAMED_RUNS = re.compile(rb'<meta name="runs" content="([0-9a-f ]*)">')


# sections
SCRIPTS = ("chart", "tables", "map", "calls", "start")  # of the page, joined in this order
NOT_OF_A_PLAN = ("seed", "launches", "file_digests")  # runs that differ only in these share a plan
LARGE_ERROR = 0.25  # error of a model, relative


class FigureFiles(NamedTuple):
    """The files of figures beside their numbers."""

    beside_page: bool = False  # PNG and SVG, which the page links
    paper: Paper | None = None  # one a panel, for a paper; None: none


NO_FILES = FigureFiles()


class _Place(NamedTuple):
    """Where a figure belongs."""

    of: str  # the runs that it is about
    prefix: str  # of the names of its files
    section: dict[str, Any]
    name: str  # of the list in the section


class Folding(NamedTuple):
    """The initial state of a section of the page."""

    is_open: bool
    line: str  # its message when folded


def write_report(
    folders: Sequence[RunFolder],
    output: Path,
    own: Mapping[str, Algorithm] = NO_OWN,
    missing: Sequence[Sequence[MissingCell]] = (),
    ratios: Sequence[RatioLine] = (),
    losses: Mapping[str, Any] | None = None,
    figures: FigureFiles = NO_FILES,
    progress: Progress = unsaid,
) -> Path:
    """Write the page about `folders` to `output`, and its numbers as CSV to `<output stem>_figures/` beside it.

    `own`: a user's own algorithms by name, so that they have models. `missing`: for each folder the cells that jobs
    should have measured and did not; empty: none. `ratios`: the table of `make ratios`; empty: none. `losses`: the
    section on lost ranks, with a list of its pictures; None: there is none. `figures`: which files there are of them
    beside their numbers; `progress` is told what comes next. Returns `output`. Creates missing parent folders; writes
    nothing before all runs were read, and all or nothing. Raises RunError; OSError where `output` exists and is no
    regular file.
    """
    beside = output.with_name(f"{output.stem}_figures")
    refuse_special(output)
    refuse_no_folder(beside)
    missing_of = missing or [()] * len(folders)
    sections = []
    for folder, name, missing_cells in zip(folders, run_names(folders), missing_of, strict=True):
        progress(f"{folder.path}: reads the times and fits models")
        sections.append(_section(folder, name, missing_cells, own))
    output.parent.mkdir(parents=True, exist_ok=True)
    together = common_frame(folders, [section.pop("frame") for section in sections])
    with written_together(beside) as hidden:
        drafts = hidden / beside.name
        prefixes = [f"{number}_" if len(sections) > 1 else "" for number in range(1, len(sections) + 1)]
        of_all = {"pictures": [] if together is None else run_pictures(together)}
        places = [_Place("all runs", "", of_all, "pictures")]
        for folder, prefix, section in zip(folders, prefixes, sections):
            names = ("pictures", "model_pictures", "straggler_pictures")
            places += [_Place(str(folder.path), prefix, section, name) for name in names]
        of_losses = dict(losses or {})
        places += [_Place("lost ranks", "", of_losses, "pictures")] if of_losses else []
        _draw(places, drafts, figures, progress)
        for folder, prefix, section in zip(folders, prefixes, sections):
            section["links"] = links(folder, output.parent)
            for name, table in section.pop("files").items():
                text = table.to_csv(index=False, float_format="%.9g")
                write_atomically(drafts / f"{prefix}{name}.csv", text)
                section["tables_written"][name] = data_address("text/csv", text.encode())
        values = {"sections": sections, "over_runs": of_all["pictures"], "ratios": ratios, "losses": of_losses}
        write_atomically(hidden / output.name, _rendered(runs=fingerprints(folders), version=__version__, **values))
    return output


def _draw(places: Sequence[_Place], drafts: Path, figures: FigureFiles, progress: Progress) -> None:
    """Draw and write the figures of the places, and put what the page needs of each in its stead."""
    sketches = [(place, sketch) for place in places for sketch in place.section[place.name]]

    def tell(sketched: tuple[_Place, Sketch]) -> None:
        progress(f"{sketched[0].of}: draws {sketched[1].stem}")

    def drawn(sketched: tuple[_Place, Sketch]) -> dict[str, Any] | str:
        place, sketch = sketched
        picture = sketch.draw()
        if isinstance(picture, str):
            return picture
        shown = write_pictures(picture, drafts, place.prefix, figures.beside_page)
        if figures.paper:
            write_panels(picture, drafts, place.prefix, figures.paper)
        return shown

    found = in_forks(drawn, sketches, tell, meanwhile=_compile_templates)
    for place in places:
        place.section[place.name] = []
    for (place, _), shown in zip(sketches, found):
        if shown:
            place.section["not_drawn" if isinstance(shown, str) else place.name].append(shown)


def _section(
    folder: RunFolder, name: str, missing: Sequence[MissingCell], own: Mapping[str, Algorithm]
) -> dict[str, Any]:
    """Return the template's values for one run. Raises RunError."""
    plan, attempts = folder.plan(), folder.attempts()
    rows = explain_rows(summarise(folder), missing)
    identified = {} if plan.groups else identified_of(folder, plan.ranks)
    native = native_section(plan, rows, identified)
    frame = with_algorithms_at_work(summary_frame(competing(rows), name), identified)
    beside = with_algorithms_at_work(summary_frame(forced, name), {}) if (forced := defaults(rows)) else None
    verdicts_of_run = verdicts(rows)
    models, unfit = _models(points_of_summary(plan, rows, attempts, name), own)
    least = lower_bounds(models, frame)
    modelled = _models_section(plan, frame, models, unfit, own)
    found = [
        *damage_caveats(damage_report(folder)),
        *caveats.find_caveats(rows, attempts, not_begun_sentences(plan, missing)),
    ]
    return {
        "name": name,
        "plan": plan,
        "competitors": competitor_names(rows, plan.competitors),
        "mockups": list(dict.fromkeys(row["competitor"] for row in mockups(rows))),
        **origin(folder, plan, rows, attempts),
        "findings": found,
        "warnings": caveats.warnings(found),
        **_verdict_values(rows, verdicts_of_run, attempts, least),
        "winners": winner_table(frame),
        "frame": frame,
        "pictures": time_pictures(frame, models, switches(verdicts_of_run), beside),
        "calls": call_distributions(folder, rows),
        "how": measured_caption(rows, attempts),
        **native,
        **modelled,
        **_sections_of_wings(folder),
        "files": native["files"] | modelled["files"],
        "tables_written": {},
        "folding": _foldings(rows, native, models),
        "carried": [words for _, words in how_measured.carried(rows)],
        "gaps": gaps(rows),
        **_bits(plan, rows),
        "tables": _tables(plan, rows, least),
        "limited": [name for name in plan.competitors if name not in MOCKUPS],
        "marks": {kind: mark.strip() for kind, mark in MARK.items()},
        "legend": LEGEND,
    }


def _verdict_values(
    rows: Sequence[SummaryRow], of_run: Sequence[Verdict], attempts: Sequence[dict], least: Mapping[int, Bounds]
) -> dict[str, Any]:
    """Return the answer and its numbers, the grades and the verdicts of one run, in words."""
    lines = [(verdict.ranks, verdict_sentence.lines(verdict)) for verdict in of_run]
    grades = {"grades": grade_lines(rows), "noise": noise_of_all(rows)}
    asked, _, at_size = _asked(rows, of_run) if of_run else (None, 0, [])
    numbers = headline(competing(at_size), least.get(asked.ranks)) if asked else []
    return {"answer": answer(rows, of_run, attempts), "headline": numbers, **grades, "verdicts": lines}


def _models(points: pd.DataFrame, own: Mapping[str, Algorithm]) -> tuple[list[Model], list[tuple[str, str]]]:
    """Return the models of the series of a run, and (series, reason) for each series without a model."""
    fits = fit_series(points, own=own)
    unfit = [(fit.competitor, fit.reason) for fit in fits if isinstance(fit, UnfittedSeries)]
    return [fit for fit in fits if isinstance(fit, Model)], unfit


def _models_section(
    plan: Plan,
    frame: pd.DataFrame,
    models: Sequence[Model],
    unfit: Sequence[tuple[str, str]],
    own: Mapping[str, Algorithm],
) -> dict[str, Any]:
    """Return the page's values about the models of a run; `own`: algorithms from a user's own files."""
    if plan.groups:  # it has no points
        unfit = [("all series", "several groups share links at the same time; the models do not cover that")]
    files = {"parameters": model_words.parameter_frame(models)} if models else {}
    lines = model_words.price_rows(models, [model.competitor for model in models])
    notes = model_words.joined_notes([(model.competitor, model.notes) for model in models])
    told = [*filter(None, [model_words.warning(models)]), *notes]
    content = {"models": lines, "model_heads": model_words.HEADS, "model_notes": told, "unfit": unfit, "not_drawn": []}
    return {**content, "model_pictures": model_pictures(frame, models, own), "files": files}


def _foldings(rows: Sequence[SummaryRow], native: Mapping[str, Any], models: Sequence[Model]) -> dict[str, Folding]:
    """Return the initial state of the sections that rest on fits and tests."""
    worst = max((row["grade"] for row in rows), key=GRADES.index, default=NOT_RELIABLE)
    return {
        "models": of_models(models),
        "ran": of_ran(native["ran"]),
        "rivals": of_rivals(native["rivals"], worst),
    }


def _tables(plan: Plan, rows: Sequence[SummaryRow], least: Mapping[int, Bounds]) -> list[dict[str, Any]]:
    """Return a table of times for each rank count that has rows."""
    return [
        time_table(ranks, of, least.get(ranks))
        for ranks in plan.ranks
        if (of := [row for row in rows if row["ranks"] == ranks])
    ]


def _bits(plan: Plan, rows: Sequence[SummaryRow]) -> dict[str, Any]:
    """Return which results agree bit by bit, if checked, or why they were not compared."""
    asked = plan.check == "bits"
    why_not = agreement.why_not_compared(plan) if asked and not is_float(plan.dtype) else ""
    return {"bits": agreement.agreements(rows) if asked else [], "no_bits": why_not}


def _sections_of_wings(folder: RunFolder) -> dict[str, Any]:
    """Return the values of a run that wings add. Raises RunError."""
    values = {"stragglers": [], "stragglers_first": False, "straggler_pictures": []}
    for section in load_offers("section"):
        values |= section(folder)
    return values


def common_frame(folders: Sequence[RunFolder], frames: Sequence[pd.DataFrame]) -> pd.DataFrame | None:
    """Return the rows of all runs in one frame, the oldest run first; None for a single run. Raises RunError.

    Further columns are created and groups, text, and plan, a number for each different plan.
    """
    if len(folders) < 2:
        return None
    plans: list[dict] = []
    marked = []
    for folder, frame in zip(folders, frames):
        plan = _plan_key(folder.plan())
        if plan not in plans:
            plans.append(plan)
        created, groups = str(folder.open().get("created", "")), folder.plan().groups
        marked.append(frame.assign(created=created, groups=groups, plan=plans.index(plan)))
    together = pd.concat(marked, ignore_index=True)
    return together.sort_values("created", kind="stable", ignore_index=True)


def _plan_key(plan: Plan) -> dict:
    """Return the part of a plan that decides which cells are measured and how, as JSON values."""
    kept = {name: value for name, value in asdict(plan).items() if name not in NOT_OF_A_PLAN}
    return json.loads(json.dumps(kept, default=str))


def of_models(models: Sequence[Model]) -> Folding:
    """Fold if the models miss held-out times by more than LARGE_ERROR, median over the series."""
    if errors := [model.held_out.median for model in models if model.held_out]:
        error = median(errors)
        words = f"median error {_per_cent(error)} at the largest rank count, left out of the fit"
        return Folding(
            error <= LARGE_ERROR,
            words if error <= LARGE_ERROR else f"{words}: too large to rely on, so folded",
        )
    return Folding(not models, "errors unknown, so folded" if models else "none could be fitted")


def of_ran(ran: dict[str, Any]) -> Folding:
    """Fold if it is not known anywhere which algorithm ran."""
    if not ran["lines"]:
        return Folding(False, "unknown")
    return Folding(True, "")


def of_rivals(rivals: dict[str, Any], level: str) -> Folding:
    """Fold if nothing was compared, if native is nowhere slower, or if the times are not reliable."""
    if not rivals["compared"]:
        return Folding(False, "none could be compared")
    lines = len(rivals["lines"])
    faster = len({line["against"] for line in rivals["lines"]})
    return _of_lines(lines, f"{faster or 'none'} of the rivals faster than native somewhere", level)


def _of_lines(lines: int, words: str, level: str) -> Folding:
    if level == NOT_RELIABLE:
        return Folding(False, f"{words}; the times are not reliable, so folded")
    return Folding(bool(lines), words)


def _per_cent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _rendered(**values: Any) -> str:
    """Render the page; its policy names its script and its style by their hashes."""
    style = theme() + asset(__package__, "web/report.css")
    script = asset(__package__, *(f"web/{name}.js" for name in SCRIPTS))
    template = _engine().get_template("report.html.j2")
    return template.render(style=style, script=script, policy=policy([style], [script]), **values)


def _compile_templates() -> None:
    """Compile the templates; whoever renders them finds them compiled."""
    for name in _engine().list_templates():
        _engine().get_template(name)


@cache
def _engine() -> Environment:
    made = engine(__package__)
    made.filters |= {"size": format_size, "digits": three_digits, "in_ranks": in_ranks}
    made.filters |= {"state": state_words, "brief_state": brief_state}
    made.globals |= {"script_data": script_data, "charts_of": _charts_of}
    return made


def _charts_of(pictures: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the charts for the script, by the stems of the pictures."""
    return {picture["stem"]: picture["live"] for picture in pictures if picture["live"]}


def default_page(folders: Sequence[RunFolder]) -> Path:
    """Return the default path of the page about `folders`: `report.html`, or the first free `report-2.html`, ...

    It is in the folder of a single run, or in the working folder for several. A name is free if there is no file, or a
    page about the same runs; in the folder of a single run also if a file does not name its runs. Raises OSError: a
    run.json, or the file at such a name, cannot be read.
    """
    runs, place = fingerprints(folders), folders[0].path if len(folders) == 1 else Path()
    free = {None, runs, ""} if len(folders) == 1 else {None, runs}
    names = chain(["report.html"], (f"report-{number}.html" for number in count(2)))
    return next(place / name for name in names if _runs_of_page(place / name) in free)


def fingerprints(folders: Sequence[RunFolder]) -> str:
    """Return the fingerprints in the head of a page about `folders`: a word for each run, sorted. Raises OSError."""
    return " ".join(sorted(hashlib.sha256(read_kept(folder.run_json)).hexdigest()[:16] for folder in folders))


def _runs_of_page(path: Path) -> str | None:
    """Return the fingerprints that a page names, possibly none; None if there is no file. Raises OSError."""
    if not os.path.lexists(path):
        return None
    with open_kept(path) as file:
        named = NAMED_RUNS.search(file.read(HEAD_NBYTES))
    return named[1].decode() if named else ""


def refuse_no_folder(path: Path) -> None:
    """Raise OSError if `path` is a link, which could lead anywhere, or a file."""
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise OSError(
            EEXIST, "no folder; the figures need a folder of this name, so name the page otherwise", str(path)
        )


def links(folder: RunFolder, start: Path) -> list[tuple[str, str]]:
    """Return (name, relative address) of the run's files that exist and are worth a link."""
    paths = [path for path in (folder.summary_csv, folder.run_json) if path.is_file()]
    return [(path.name, quote(Path(os.path.relpath(path, start)).as_posix())) for path in paths]
