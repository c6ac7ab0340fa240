"""`run --against`: runs that differ in conditions and whose launches alternate, in folders a, b, c of one."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import click

from ..launching.this_start import Run
from ..machine.variables import drop_values, is_stored
from ..runs.conditions import CONDITIONS, conditions_of
from ..runs.folder import RunFolder, alternated_names
from ..runs.plan import Plan, PlanError, random_seed
from ..runs.recorder import create_alternated_runs, is_taken
from ..runs.rows import RunError
from ..units import shell_word
from .options import OPTIONS
from .request import Request, begin_run, default_output, existing_plan, tell_unstored
from .resumed import kept_plan
from .types import LAUNCHER_TEXTS, OneLineError, kept_command


def alternated_requests(command: click.Command, request: Request, against: Sequence[str]) -> list[Request]:
    """Return the requests of the command as given and of each of its --against; alone, if there is none.

    In a folder that is resumed, the requests of its runs. Raises OneLineError, PlanError, RunError.
    """
    output = request.control.output
    names = alternated_names(output) if output and request.control.resume else []
    if not against and not names:
        return [request]
    if against and names and len(against) + 1 != len(names):
        raise PlanError(f"{output}: holds the runs {', '.join(names)}; repeat their --against, or leave it out")
    if against and not names and output and is_taken(output):
        raise RunError(f"{output}: already exists; choose another folder with -o for the runs of --against")
    if output and not against:
        others = replace(request, asked=request.asked - CONDITIONS.keys())
        return _place_runs(output, [request, *[others] * (len(names) - 1)])
    if len(against) >= len(ascii_lowercase):
        raise PlanError(f"--against: at most {len(ascii_lowercase) - 1} in one run, found {len(against)}")
    if "seed" not in request.asked:
        request = request.deciding(seed=random_seed())
    plan = request.plan()
    requests, plans = [request], [plan]
    for text in against:
        asked = _conditions(command, text, request.options)
        other = replace(request.deciding(sizes=plan.sizes, **asked), asked=request.asked | asked.keys())
        try:
            other_plan = other.plan()
        except (ValueError, RuntimeError) as error:
            raise OneLineError(f"{_quote(text)}: {error}") from error
        _refuse_equal(text, other_plan, plans)
        requests.append(other)
        plans.append(other_plan)
    return _place_runs(output or default_output(plan), requests)


def _place_runs(path: Path, requests: Sequence[Request]) -> list[Request]:
    return [request.deciding(output=path / name) for name, request in zip(ascii_lowercase, requests)]


def _quote(text: str) -> str:
    return f"--against {shlex.quote(drop_values([text])[0])}"


def _conditions(command: click.Command, text: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the conditions of one --against, by fields; -x of the command is kept. Raises OneLineError."""
    of_run = [param for param in command.params if param.name in OPTIONS]
    parsing = click.Command("run", params=of_run, add_help_option=False)
    try:
        words = shlex.split(text)
        _, surplus, given = parsing.make_parser(click.Context(parsing)).parse_args([*words])
        names = [str(param.name) for param in given]
        _refuse_words(surplus, names)
        values = parsing.make_context("run", words).params
    except (ValueError, click.ClickException) as error:
        raise OneLineError(
            f"{_quote(text)}: {error.format_message() if isinstance(error, click.ClickException) else error}"
        ) from error
    asked = {name: values[name] for name in names}
    _refuse_unstored(text, asked)
    if "variables" in asked:
        own = {setting.partition("=")[0]: setting for setting in (*options["variables"], *asked["variables"])}
        asked["variables"] = tuple(own.values())
    return asked


def _refuse_words(surplus: Sequence[str], names: Sequence[str]) -> None:
    """Raise ValueError for words that are no conditions, or two values of one."""
    only = "it holds conditions only, such as --segment 64K or --cache cold"
    if surplus:
        raise ValueError(f"found '{drop_values(surplus)[0]}'; {only}")
    if not names:
        raise ValueError(f"is empty; {only}")
    for name in names:
        if name not in CONDITIONS:
            raise ValueError(f"{OPTIONS[name].name} is no condition; {only}")
        if names.count(name) > 1 and not OPTIONS[name].repeated:
            raise ValueError(f"{OPTIONS[name].name} is given twice; two values are two --against")


def _refuse_unstored(text: str, asked: Mapping[str, Any]) -> None:
    """Raise OneLineError for variables whose values are not stored: nobody could see afterwards what differs."""
    variables = [each.partition("=")[0] for each in asked.get("variables", ())]
    if twice := next((name for name in variables if variables.count(name) > 1), None):
        raise OneLineError(f"{_quote(text)}: -x {twice} is given twice; two values are two --against")
    unstored = [f"-x {name}" for name in variables if not is_stored(name)]
    unstored += [
        OPTIONS[name].name
        for name, value in asked.items()
        if OPTIONS[name].name in LAUNCHER_TEXTS and drop_values([value]) != [value]
    ]
    if unstored:
        raise OneLineError(
            f"{_quote(text)}: {unstored[0]} sets a variable whose value is not stored, so that nobody could see what "
            "differs; name a variable of the MPI or its network"
        )


def _refuse_equal(text: str, plan: Plan, plans: Sequence[Plan]) -> None:
    """Raise OneLineError if a plan measures what an earlier plan measures."""
    own = conditions_of(plan)
    for other in plans:
        others = conditions_of(other)
        differing = [name for name, value in own.items() if value != others[name]]
        whose = "the command" if other is plans[0] else "another --against"
        if not differing:
            raise OneLineError(f"{_quote(text)}: no condition differs from {whose}; name another value")
        launch = plan.planned_launches()[0]
        if differing == ["segment"] and plan.cells(launch) == other.cells(launch):
            raise OneLineError(
                f"{_quote(text)}: no algorithm of -a cuts vectors into segments; name one, or --executor pipelined"
            )


def begin_runs(runs: Sequence[Run], requests: Sequence[Request]) -> None:
    """Write the plans of new runs, all at once; existing runs are not changed. Raises as `begin_run`.

    Where another job begins the runs meanwhile, its plans are taken.
    """
    if len(runs) == 1:
        runs[0].plan = begin_run(runs[0].folder, runs[0].plan, requests[0])
        return
    path = runs[0].folder.path.parent
    if not is_taken(path):
        try:
            create_alternated_runs(path, {run.folder.path.name: kept_plan(run.plan) for run in runs}, kept_command())
        except RunError:
            if not requests[0].control.resume:
                raise
        else:
            tell_unstored(runs[0].plan)
            return
    for run, request in zip(runs, requests):
        run.plan = existing_plan(run.folder, run.plan, request)


def next_commands(folders: Sequence[RunFolder]) -> list[str]:
    """Return the commands that compare the first run with each of the others."""
    first, *others = (shell_word(folder.path) for folder in folders)
    return [f"allreduce-bench compare {first} {other}" for other in others]
