"""One self-contained HTML page about finished runs: verdict, map, figures, times, how they were measured.

The page holds its figures, style and script, and needs no network. It is complete without the script, which makes
figures interactive and tables sortable. The template engine escapes all text from outside (host names, commands, file
names, reasons), and the page's content security policy runs only its own script: see `web`. Sections with
large errors are folded, and begin with a line that says so.
"""

from collections.abc import Iterable, Mapping, Sequence
from errno import EEXIST
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from jinja2 import Environment

from .. import __version__
from ..evaluation.agreement import bits_sentences
from ..evaluation.competing import competing, competitor_names, mockups
from ..evaluation.grade import is_disturbed
from ..evaluation.missing import MissingCell, explain_rows, not_begun_sentences
from ..evaluation.settable import find_settable, lacks_settable
from ..evaluation.summary import summarise, summary_frame
from ..evaluation.summary_row import SummaryRow
from ..evaluation.verdict import Verdict, verdicts
from ..machine.forks import in_forks
from ..models import words as model_words
from ..models.fitting import UnfittedSeries, fit_series
from ..models.model import Model
from ..models.points import points_of_summary
from ..runs.competitor import MOCKUPS
from ..runs.files import refuse_special, write_atomically, written_together
from ..runs.folder import RunFolder, run_names
from ..runs.identified import identified_of
from ..runs.plan import Plan
from ..runs.schema import state_words
from ..stats import median
from ..units import format_bandwidth, format_size, format_time, in_ranks, three_digits
from ..watching.progress import Progress, unsaid
from ..web import asset, data_address, engine, policy, script_data, theme
from ..wings import load_offers
from . import caveats
from .damage_sentence import damage_caveats, damage_report
from .distribution import call_distributions
from .grade_sentence import reasons_words
from .grid import LEGEND, MARK, brief_state
from .how_measured import describe_origin
from .live_chart import Switch
from .paper import Paper, write_panels
from .pictures import Sketch, measured_caption, model_pictures, run_pictures, time_pictures, write_pictures
from .ran_section import ran_section
from .time_table import time_table
from .unbroken import add_algorithms_at_work
from .verdict_sentence import crossover_words, settable_sentence, verdict_sentences
from .winner_table import winner_table


class VerdictOfRanks(NamedTuple):
    """What the first screen says of one rank count."""

    ranks: int
    sentences: list[str]
    level: str  # the grade
    reasons: str  # of the grade; empty: none


def switches(verdicts: Sequence[Verdict]) -> dict[int, list[Switch]]:
    """Return the crossovers of each rank count, for the figures over size."""
    return {
        verdict.ranks: [
            Switch(over.size_bytes, over.low, over.high, f"crossover from {crossover_words(over)}")
            for over in verdict.hand_overs
            if over
        ]
        for verdict in verdicts
    }


# sections
SCRIPTS = ("chart", "tables", "map", "calls", "start")  # of the page, joined in this order
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


def write_report(
    folders: Sequence[RunFolder],
    output: Path,
    missing: Sequence[Sequence[MissingCell]] = (),
    figures: FigureFiles = NO_FILES,
    progress: Progress = unsaid,
) -> Path:
    """Write the page about `folders` to `output`, and its numbers as CSV to `<output stem>_figures/` beside it.

    `missing`: for each folder the cells that jobs should have measured and did not; empty: none. `figures`: which files
    there are of them beside their numbers; `progress` is told what comes next. Returns `output`. Writes nothing before
    all runs were read, and all or nothing. Raises RunError; OSError where `output` exists and is no regular file, or
    its folder does not exist.
    """
    beside = output.with_name(f"{output.stem}_figures")
    refuse_special(output)
    _refuse_no_folder(beside)
    missing_of = missing or [()] * len(folders)
    sections = []
    for folder, name, missing_cells in zip(folders, run_names(folders), missing_of, strict=True):
        progress(f"{folder.path}: reads the times and fits models")
        sections.append(_section(folder, name, missing_cells))
    together = common_frame(folders, [section.pop("frame") for section in sections])
    with written_together(beside) as hidden:
        drafts = hidden / beside.name
        prefixes = [f"{number}_" if len(sections) > 1 else "" for number in range(1, len(sections) + 1)]
        of_all = {"pictures": [] if together is None else run_pictures(together)}
        places = [_Place("all runs", "", of_all, "pictures")]
        for folder, prefix, section in zip(folders, prefixes, sections):
            names = ("pictures", "model_pictures", "straggler_pictures")
            places += [_Place(str(folder.path), prefix, section, name) for name in names]
        _draw(places, drafts, figures, progress)
        for prefix, section in zip(prefixes, sections):
            for name, table in section.pop("files").items():
                text = table.to_csv(index=False, float_format="%.9g")
                write_atomically(drafts / f"{prefix}{name}.csv", text)
                section["tables_written"][name] = data_address("text/csv", text.encode())
        values = {"sections": sections, "over_runs": of_all["pictures"]}
        write_atomically(hidden / output.name, _render(version=__version__, **values))
    return output


def _refuse_no_folder(path: Path) -> None:
    """Raise OSError if `path` is a link, which could lead anywhere, or a file."""
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise OSError(
            EEXIST, "no folder; the figures need a folder of this name, so name the page otherwise", str(path)
        )


def _draw(places: Sequence[_Place], drafts: Path, figures: FigureFiles, progress: Progress) -> None:
    """Draw and write the figures of the places, and put what the page needs of each in its stead."""
    sketches = [(place, sketch) for place in places for sketch in place.section[place.name]]

    def tell(sketched: tuple[_Place, Sketch]) -> None:
        progress(f"{sketched[0].of}: draws {sketched[1].stem}")

    def drawn(sketched: tuple[_Place, Sketch]) -> dict[str, Any] | None:
        place, sketch = sketched
        if (drawing := sketch.draw()) is None:
            return None
        shown = write_pictures(drawing, sketch.stem, drafts, place.prefix, figures.beside_page)
        if figures.paper:
            write_panels(drawing, f"{place.prefix}{sketch.stem}", drafts, figures.paper)
        return shown

    found = in_forks(drawn, sketches, tell, meanwhile=_compile_templates)
    for place in places:
        place.section[place.name] = []
    for (place, _), shown in zip(sketches, found):
        if shown:
            place.section[place.name].append(shown)


def _section(folder: RunFolder, name: str, missing: Sequence[MissingCell]) -> dict[str, Any]:
    """Return the template's values for one run. Raises RunError."""
    plan, attempts = folder.plan(), folder.attempts()
    rows = explain_rows(summarise(folder), missing)
    identified = {} if plan.groups else identified_of(folder, plan.ranks)
    ran = ran_section(plan, rows, identified)
    frame = add_algorithms_at_work(summary_frame(competing(rows), name), identified)
    verdicts_of_run = verdicts(rows)
    models, unfit = _models(points_of_summary(plan, rows, attempts, name))
    modelled = _models_section(plan, frame, models, unfit)
    found = [
        *damage_caveats(damage_report(folder)),
        *caveats.find_caveats(rows, attempts, not_begun_sentences(plan, missing)),
    ]
    return {
        "name": name,
        "files_beside": [path.name for path in (folder.summary_csv, folder.run_json) if path.is_file()],
        "plan": plan,
        "competitors": competitor_names(rows, plan.competitors),
        "mockups": list(dict.fromkeys(row["competitor"] for row in mockups(rows))),
        **describe_origin(folder, plan, rows, attempts),
        "badges": list(dict.fromkeys((one.level, one.badge) for one in found if one.level != "info")),
        "warnings": [one for one in found if one.level != "good"],
        "verdicts": [_verdict_of_ranks(verdict, rows) for verdict in verdicts_of_run],
        "settable": settable_sentence(None) if lacks_settable(plan, rows) else "",
        "winners": winner_table(frame),
        "frame": frame,
        "pictures": time_pictures(frame, models, switches(verdicts_of_run)),
        "calls": call_distributions(folder, rows),
        "how": measured_caption(rows, attempts),
        **ran,
        **modelled,
        **_load_wing_sections(folder),
        "files": ran["files"] | modelled["files"],
        "tables_written": {},
        "models_line": models_line(models),
        "gaps": caveats.find_gaps(rows),
        "bits": _bits(plan, rows),
        "tables": [
            time_table(ranks, of) for ranks in plan.ranks if (of := [row for row in rows if row["ranks"] == ranks])
        ],
        "limited": [name for name in plan.competitors if name not in MOCKUPS],
        "marks": {kind: mark.strip() for kind, mark in MARK.items()},
        "legend": LEGEND,
    }


def _verdict_of_ranks(verdict: Verdict, every: Sequence[SummaryRow]) -> VerdictOfRanks:
    """Return the verdict on one rank count, what of it a user can set, and its grade; `every`: the rows of the run."""
    rows = [row for row in every if row["ranks"] == verdict.ranks]
    found = find_settable([rows])
    grade = rows[0]["grading"]
    sentences = [*verdict_sentences(verdict), *([settable_sentence(found)] if found else [])]
    return VerdictOfRanks(verdict.ranks, sentences, grade.level, reasons_words(grade))


def _models(points: pd.DataFrame) -> tuple[list[Model], list[tuple[str, str]]]:
    """Return the models of the series of a run, and (series, reason) for each series without a model."""
    fits = fit_series(points)
    unfit = [(fit.competitor, fit.reason) for fit in fits if isinstance(fit, UnfittedSeries)]
    return [fit for fit in fits if isinstance(fit, Model)], unfit


def _models_section(
    plan: Plan, frame: pd.DataFrame, models: Sequence[Model], unfit: Sequence[tuple[str, str]]
) -> dict[str, Any]:
    """Return the page's values about the models of a run."""
    if plan.groups:  # it has no points
        unfit = [("all series", "several groups share links at the same time; the models do not cover that")]
    files = {"parameters": model_words.parameter_frame(models)} if models else {}
    lines = model_words.price_rows(models, [model.competitor for model in models])
    notes = model_words.joined_notes([(model.competitor, model.notes) for model in models])
    told = [*filter(None, [model_words.warning(models)]), *notes]
    content = {"models": lines, "model_heads": model_words.HEADS, "model_notes": told, "unfit": unfit}
    return {**content, "model_pictures": model_pictures(frame, models), "files": files}


def _bits(plan: Plan, rows: Sequence[SummaryRow]) -> list[tuple[int, list[str]]]:
    """Return what --check bits found at each rank count; empty without it."""
    rows_of = {ranks: [row for row in rows if row["ranks"] == ranks] for ranks in plan.ranks}
    return [(ranks, said) for ranks, of in rows_of.items() if (said := bits_sentences(plan, of))]


def _load_wing_sections(folder: RunFolder) -> dict[str, Any]:
    """Return the values of a run that wings add. Raises RunError."""
    values = {"stragglers": [], "stragglers_first": False, "straggler_pictures": []}
    for section in load_offers("section"):
        values |= section(folder)
    return values


def common_frame(folders: Sequence[RunFolder], frames: Sequence[pd.DataFrame]) -> pd.DataFrame | None:
    """Return the rows of all runs in one frame with their groups, text, the oldest run first; None for a single run.

    Raises RunError.
    """
    if len(folders) < 2:
        return None
    named = [frame.assign(groups=folder.plan().groups) for folder, frame in zip(folders, frames)]
    created = [str(folder.open().get("created", "")) for folder in folders]
    return pd.concat([named[i] for i in sorted(range(len(folders)), key=created.__getitem__)], ignore_index=True)


def models_line(models: Sequence[Model]) -> str:
    """Return how well the models predict what was left out of the fit."""
    errors = [model.held_out.median for model in models if model.held_out]
    if errors:
        error = median(errors)
        words = f"median error {100 * error:.0f} % at the largest rank count, left out of the fit"
        return words if error <= LARGE_ERROR else f"{words}: too large to rely on"
    return "errors unknown" if models else "none could be fitted"


def _render(**values: Any) -> str:
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
    made.filters |= {"size": format_size, "time": format_time, "digits": three_digits, "in_ranks": in_ranks}
    made.filters |= {"bandwidth": format_bandwidth, "state": state_words, "brief_state": brief_state}
    made.tests["disturbed"] = is_disturbed
    made.globals |= {"script_data": script_data, "charts_of": _charts_of}
    return made


def _charts_of(pictures: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the charts for the script, by the stems of the pictures."""
    return {picture["stem"]: picture["live"] for picture in pictures if picture["live"]}
