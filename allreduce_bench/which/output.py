"""What ran, as tables and sentences, and as JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from ..identifying.evidence import Answer, is_asked
from ..identifying.known import names
from ..identifying.launch import Findings, ProbeFailed
from ..runs.identified import NO, OPEN, YES
from ..runs.library_algorithms import AT_START, CHOICE
from ..tables import UNBOUNDED, Screen, columns_of, fitted
from ..units import format_size, in_ranks
from .effects import Effect, sentence, without_words
from .settings import OF_TUNED, Setting

CHOICES = {*CHOICE.values(), *AT_START.values()}  # variables that choose an algorithm
SCHEMA = "urn:allreduce-bench:which:1"


class Verdict(NamedTuple):
    """Whether an expected algorithm ran."""

    size_bytes: int
    name: str
    state: str  # YES, OPEN or NO


class Result(NamedTuple):
    """All that `which` says."""

    library: str
    found: Findings
    sizes: Sequence[int]
    settings: Sequence[Setting]
    effects: Mapping[str, Effect | ProbeFailed]  # by the names of settings
    verdicts: Sequence[Verdict]
    bisects: bool = False  # whether switches were looked for


def result_lines(result: Result, screen: Screen = UNBOUNDED) -> tuple[list[str], list[str]]:
    """Return the lines of the tables, and sentences below them."""
    found = result.found
    lines = [f"{result.library}, {in_ranks([found.ranks])} on {found.nodes} node{'s' if found.nodes != 1 else ''}", ""]
    if result.settings:
        lines += [*fitted(_settings_columns(result), screen), ""]
    lines += fitted(_sizes_columns(result), screen)
    return lines, _sentences(result)


def _settings_columns(result: Result):
    rows = [["setting", "from", "read", "effect"]]
    for one in result.settings:
        value = f"{one.name}={one.value}" + (f" ({one.meaning})" if one.meaning else "")
        read = {True: "yes", False: "no", None: "?"}[one.read]
        rows.append([value, one.source, read, effect_words(result, one)])
    return columns_of(rows, left=(0, 1, 2, 3), text=3)


def effect_words(result: Result, one: Setting) -> str:
    """Return what a setting changes, or why it has no effect."""
    seen = result.effects.get(one.name)
    words = [str(one.problem)] if one.problem else []
    if isinstance(seen, Effect):
        words.append(sentence(seen, is_below_han=one.name.startswith(OF_TUNED)))
        absent = [] if seen.is_in_han else _without_run(result, one)
        words += [f"{one.meaning or one.value} did not run at {', '.join(absent)}"] if absent else []
    elif seen is not None:
        words.append(str(seen))
    return "; ".join(words) or "not looked at"


def _without_run(result: Result, one: Setting) -> list[str]:
    """Return the sizes at which the algorithm that a setting asks for did not run: the library took another one."""
    name, answers = one.meaning or one.value, result.found.answers
    if one.name not in CHOICES or name not in names(one.library):
        return []
    return [format_size(size) for size in result.sizes if is_asked(answers[size], name) == NO]


def _sizes_columns(result: Result):
    effects = {name: seen for name, seen in result.effects.items() if isinstance(seen, Effect)}
    verdicts = result.verdicts
    heads = ["size", "evidence"]
    heads += ["without it"] if len(effects) == 1 else [f"without {name}" for name in effects]
    heads += (["expected"] if verdicts else []) + ["ran"]
    rows = [heads]
    for size in result.sizes:
        answer = result.found.answers[size]
        row = [format_size(size), answer.evidence]
        row += [without_words(seen.at[size]) if size in seen.at else "" for seen in effects.values()]
        if verdicts:
            row.append(", ".join(verdict_words(one) for one in verdicts if one.size_bytes == size))
        rows.append([*row, answer.words])
    columns = columns_of(rows, left=range(len(heads)), text=len(heads) - 1)
    told = range(2, 2 + len(effects))  # by the effects of the settings, too
    return [replace(column, left_out=int(number in told)) for number, column in enumerate(columns)]


def verdict_words(one: Verdict) -> str:
    """Return `ring: yes`, `ring: NO`, `ring: cannot tell`."""
    answer = {YES: "yes", OPEN: "cannot tell", NO: "NO"}[one.state]
    return f"{one.name}: {answer}"


def _sentences(result: Result) -> list[str]:
    answers, sentences = result.found.answers, []
    for size in result.found.switches:
        below = max(other for other in answers if other < size)
        was, now = answers[below].words, answers[size].words
        sentences.append(f"from {size} B on: {now}; below: {was}")
    if result.bisects and not result.found.switches and len(result.sizes) > 1:
        low, high = format_size(result.sizes[0]), format_size(result.sizes[-1])
        if all(answer.by_messages for answer in answers.values()):
            sentences.append(f"no change was seen from {low} to {high}")
        else:
            sentences.append(
                f"no change of the order was seen from {low} to {high}; algorithms of one order may change unseen"
            )
    if result.found.not_counted:
        sentences.append(result.found.not_counted)
    return sentences + [
        refutation_sentence(one, answers[one.size_bytes].words) for one in result.verdicts if one.state == NO
    ]


def refutation_sentence(one: Verdict, ran: str) -> str:
    """Return the sentence about an algorithm that was expected, and did not run."""
    return f"expected {one.name} at {format_size(one.size_bytes)}, found {ran}"


def json_text(result: Result) -> str:
    """Return `which --format json`."""
    found = result.found
    content = {
        "schema": SCHEMA,
        "library": result.library,
        "ranks": found.ranks,
        "nodes": found.nodes,
        "not_counted": found.not_counted,
        "sizes": [_size_object(size, found.answers[size]) for size in result.sizes],
        "switches": [{"size_bytes": size, "names": list(found.answers[size].names)} for size in found.switches],
        "settings": [_setting_object(one, effect_words(result, one)) for one in result.settings],
        "expected": [one._asdict() for one in result.verdicts],
    }
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def _size_object(size: int, answer: Answer) -> dict[str, object]:
    names = ("names", "order", "by_order", "by_messages")
    return {"size_bytes": size, **{name: getattr(answer, name) for name in names}}


def _setting_object(one: Setting, effect: str) -> dict[str, object]:
    names = ("name", "value", "meaning", "source", "read")
    return {**{name: getattr(one, name) for name in names}, "effect": effect}
