"""The conditions of a run: what changes what is measured or what a time means; one value each, declared by its option.

How long, how often and in which order cells are measured is none, nor what is only kept or shown.
"""

from dataclasses import fields
from typing import Any

from .command_of_plan import said_otherwise
from .option import Option, Words, comma_separated, options_of
from .plan import DEFAULT_WINDOW, ImportedPlan, Plan
from .start import Start

CONDITIONS = {name: option for name, option in options_of(Plan, Start).items() if option.condition}  # by field
SAID_IN_TABLES = (
    "dtype",
    "op",
    "in-place",
    "groups",
    "pretend-ranks-per-node",
)  # by name: beside the ranks and the operation
DEFAULTS = {each.name: each.default for kind in (Plan, Start) for each in fields(kind)} | {"window": DEFAULT_WINDOW}


def conditions_of(plan: Plan) -> dict[str, str]:
    """Return the text of each condition, by names such as `late-by`; empty: none, or left to the program or launcher.

    Logs say the cache at most.
    """
    if isinstance(plan, ImportedPlan):
        return {"cache": plan.cache}
    trace = f" (sha256 {plan.arrival_digest[:16]})" if plan.arrival_digest else ""  # wherever its file lies
    values = {**vars(plan), **vars(plan.start), **said_otherwise(plan), "arrival": plan.arrival_name + trace}
    return {name_of(option): _text(option, values[name]) for name, option in CONDITIONS.items()}


def unusual_conditions(plan: Plan) -> list[tuple[str, str]]:
    """Return (name, text) of each condition that is not the default."""
    usual = {name_of(option): _text(option, DEFAULTS[name]) for name, option in CONDITIONS.items()}
    return [(name, text) for name, text in conditions_of(plan).items() if text not in ("", usual[name])]


def conditions_text(plan: Plan, *said: str) -> str:
    """Return the conditions that are not the default: `cache cold, sync barrier`; `said`: those named beside it."""
    return ", ".join(f"{name} {text}" for name, text in unusual_conditions(plan) if name not in said)


def name_of(option: Option) -> str:
    """Return the name of a condition, as in `compare --despite`: that of its option without dashes before it."""
    return option.name.lstrip("-")


def _text(option: Option, value: Any) -> str:
    if value in (None, (), ""):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if option.repeated:
        return " ".join(map(str, value))
    return option.of.short(value) if isinstance(option.of, Words) else comma_separated(value)
