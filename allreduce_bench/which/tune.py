"""`tune`: write what the library is to use, from runs, and prove what was written."""

import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import click

from ..cli.options import click_option
from ..cli.sections import examples
from ..cli.terminal import echo_wrapped, screen
from ..cli.types import OneLineError, errors_in_one_line, talk, tell_damages
from ..launching.find import find_launcher
from ..launching.launcher import Launcher
from ..measuring.startup import under_launcher
from ..runs.folder import RunFolder
from ..runs.start import Start
from ..tables import columns_of, fitted
from ..units import counted, format_size, format_time, in_ranks, shell_word, significant
from .effects import names_words
from .tuning import Rule, TuneError, Tuning, format_span, make_tuning, run_words
from .tuning_files import read_tuning, refuse_changed, remake_command, variables_of, write_tuning
from .tuning_proof import (
    ACTS,
    ANYWAY,
    CHANGED,
    GAIN,
    HARMLESS,
    UNCHANGED,
    UNKNOWN,
    Alternated,
    Seen,
    alternate,
    is_faster,
    look_at_rules,
    refuse_told,
)

HEADS = ("ranks", "sizes", "rule", "times as fast", "worst", "rounds", "")
SEEN_HEADS = ("ranks", "size", "told", "", "ran")
TURN_HEADS = ("ranks", "size", "default", "file", "times as fast", "worst round")


@click.command(
    epilog=examples(
        "tune results/MONDAY results/TUESDAY",
        "tune results/MONDAY results/TUESDAY -o allreduce.conf",
        "tune --verify allreduce.conf --wait-idle 10m",
    )
)
@click.argument("runs", nargs=-1, type=click.Path(path_type=Path), metavar="[RUN]...")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="File for Open MPI, folder for MPICH; without it: print."
)
@click.option("--verify", type=click.Path(path_type=Path), metavar="FILE", help="Prove what FILE of tune does here.")
@click_option("wait_idle_s")
@errors_in_one_line
def tune(runs: tuple[Path, ...], output: Path | None, verify: Path | None, wait_idle_s: float | None) -> None:
    """Write which all-reduce algorithms the library is to use, from RUNS on one node.

    A rule stands where an algorithm of the library is as fast as its fastest, 10 % faster than its default in the
    medians and 5 % in every round, at two neighbouring sizes or more, in each of the RUNS. RUNS of two days or hosts
    are asked for; the file of one is a draft. --verify proves what runs with the file and without, then measures both
    in turn, at other sizes where there are some, and drops a rule that is not shown to be faster.
    """
    if runs and verify:
        raise OneLineError("--verify FILE knows its runs; leave out RUNS, or --verify")
    if not runs and not verify:
        raise OneLineError("expected RUNS, or --verify FILE; such as: allreduce-bench tune results/RUN -o FILE")
    if verify:
        if under_launcher(os.environ):
            raise OneLineError("--verify starts its own ranks; run it without mpirun or srun")
        if output:
            raise OneLineError("--verify writes into its own file; leave out -o")
        raise click.exceptions.Exit(_verify(verify, wait_idle_s))
    tell_damages(map(RunFolder, runs))
    tuning = make_tuning(runs)
    if output:
        launcher = find_launcher(Start())
        _refuse_library(launcher, tuning, "write it there")
        write_tuning(output, tuning, _prefix(launcher))
    if tuning.rules:
        click.echo("\n".join(_rule_lines(tuning)) + "\n")
    echo_wrapped(_sentences(tuning))
    click.echo("\n".join(_next_lines(tuning, output)))


def _prefix(launcher: Launcher) -> Path:
    """Return where the library of a launcher is installed."""
    return Path(launcher.program).resolve().parent.parent


def _refuse_library(launcher: Launcher, tuning: Tuning, advice: str) -> None:
    if launcher.library != tuning.library:
        raise OneLineError(f"measured with {tuning.library}; the library here is {launcher.library}: {advice}", 1)


def _rule_lines(tuning: Tuning) -> list[str]:
    """Return the table of rules."""
    rows = [[*HEADS]]
    for rule in tuning.rules:
        numbers = [format_span(rule.least, rule.most), significant(rule.worst, 2), str(rule.rounds)]
        default = f"default: {names_words(rule.default)}"
        rows.append([str(rule.ranks), rule.sizes_words, rule.algorithm, *numbers, default])
    return fitted(columns_of(rows, left=(1, 2, 6), text=6, keys=2), screen())


def _sentences(tuning: Tuning) -> list[str]:
    """Return what the rules come to."""
    if tuning.rules:
        said = [f"{'; '.join(rule.words for rule in tuning.rules)}; else the default."]
    else:
        said = [f"No rules for {in_ranks(tuning.ranks)}: no algorithm is shown to be faster than the default."]
    said += [f"No rule: {'; '.join(tuning.left)}."] if tuning.left else []
    said += [f"The default was what {tuning.told} made of it."] if tuning.told else []
    if tuning.is_draft:
        said.append("draft: runs of one day and the same hosts; add a run of another day or of other hosts.")
    return said


def _next_lines(tuning: Tuning, output: Path | None) -> list[str]:
    """Return the commands that come next, one a line."""
    if output is None:
        return [f"next: allreduce-bench tune {run_words(tuning)} -o FILE"]
    proof = f"next: allreduce-bench tune --verify {shell_word(output)}"
    return [proof, *_load_lines(tuning, output)] if tuning.rules else [proof]


def _load_lines(tuning: Tuning, path: Path) -> list[str]:
    """Return the commands that load a file."""
    variables = variables_of(str(path.resolve()), tuning)
    return ["load it with:", *(f"export {name}={shell_word(value)}" for name, value in variables.items())]


# Proof


def _verify(path: Path, wait_idle_s: float | None) -> int:
    """Prove what a file does; return the exit status: 1 unless all of it is proved."""
    tuning = read_tuning(path)
    launcher = find_launcher(Start())
    _refuse_library(launcher, tuning, f"measure again, then: {remake_command(path, tuning)}")
    try:
        refuse_changed(path, tuning, _prefix(launcher))
        refuse_told(tuning)
    except TuneError as error:
        raise OneLineError(str(error), 1) from error
    if not tuning.rules:
        echo_wrapped([f"{path}: no rules; the library runs its default everywhere."])
        return 0
    talk("the proof takes some minutes; the runs that it measures stay in results/")
    variables = variables_of(str(path.resolve()), tuning)
    seen = look_at_rules(tuning, variables, launcher, talk)
    click.echo("\n".join(_seen_lines(seen, tuning)))
    echo_wrapped(_seen_sentences(seen, tuning))
    if any(_is_wrong(one, tuning) for one in seen):
        return 1
    turns, doubt = _alternate_all(tuning, variables, wait_idle_s)
    if turns:
        click.echo("\n" + "\n".join(_turn_lines(turns)))
    if doubt:
        echo_wrapped([f"not verified: {doubt}"])
        return 1
    kept = tuple(rule for rule in tuning.rules if is_faster(rule, turns))
    proved = [one for one in turns if one.rule in kept]
    words = f"; {_proved_words(proved, tuning)}" if proved else ""
    verified = f"{datetime.now(timezone.utc).date()}, {launcher.library}{words}"
    write_tuning(path, replace(tuning, rules=kept, verified=verified), _prefix(launcher))
    dropped = [rule for rule in tuning.rules if rule not in kept]
    echo_wrapped([f"failed: {_dropped_words(rule, turns, path)}" for rule in dropped])
    if kept:
        echo_wrapped([f"verified: {_proved_words(proved, tuning)}."])
        click.echo("\n".join(_load_lines(tuning, path)))
    return 1 if dropped else 0


def _is_wrong(one: Seen, tuning: Tuning) -> bool:
    """Return whether a rule does not act, or acts where there is none.

    Where variables told the default something, a file ends that outside of its rules, too.
    """
    return one.is_wrong and not (one.words == CHANGED and tuning.told)


def _seen_lines(seen: Sequence[Seen], tuning: Tuning) -> list[str]:
    """Return the table of what runs, without the places where nothing is told and nothing changed."""
    rows = [[*SEEN_HEADS]]
    for one in seen:
        if one.told or _is_wrong(one, tuning):
            rows.append([str(one.ranks), format_size(one.size_bytes), one.told or "-", one.words, one.ran])
    return fitted(columns_of(rows, left=(2, 3, 4), text=4, keys=2), screen())


def _seen_sentences(seen: Sequence[Seen], tuning: Tuning) -> list[str]:
    """Return what is wrong, or how much is proved."""
    if wrong := [one for one in seen if _is_wrong(one, tuning)]:
        kinds = ", ".join(dict.fromkeys(one.words for one in wrong))
        return [f"failed: {kinds} at {len(wrong)} of {counted(len(seen), 'place')}, see the table."]
    told, others = ([one for one in seen if bool(one.told) is is_told] for is_told in (True, False))
    unchanged = sum(one.words == UNCHANGED for one in others)
    acts, anyway = (sum(one.words == words for one in told) for words in (ACTS, ANYWAY))
    said = [f"The file acts at {acts} of {len(told)} places that it has rules for."]
    said += [f"At {anyway} the library runs the same without the file."] if anyway else []
    if others:
        counts = in_ranks(sorted({one.ranks for one in others}))
        said.append(f"Besides, on {counts}: unchanged at {unchanged} of {len(others)} places.")
    if tuning.told:
        said.append(f"Elsewhere the library chooses by itself again, without {tuning.told}.")
    if any(one.words == UNKNOWN for one in seen):
        said.append("At the rest order and messages do not tell what runs: there only the times below say something.")
    return [*said, "MPI_COMM_SELF works."]


def _alternate_all(
    tuning: Tuning, variables: dict[str, str], wait_idle_s: float | None
) -> tuple[list[Alternated], str]:
    """Measure default and file in turn on each number of ranks; the text says why they prove nothing."""
    stamp = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H-%M-%S")
    turns, doubts = [], []
    for ranks in sorted({rule.ranks for rule in tuning.rules}):
        talk(f"measuring default and file in turn on {in_ranks([ranks])}")
        folder = Path("results") / f"{stamp}_tune_{ranks}r"
        of_ranks, doubt = alternate(tuning, ranks, variables, folder, wait_idle_s)
        turns += of_ranks
        doubts.append(doubt)
    return turns, next(filter(None, doubts), "")


def _turn_lines(turns: Sequence[Alternated]) -> list[str]:
    rows = [[*TURN_HEADS]]
    for one in turns:
        times = [format_time(time_s) for time_s in (one.default_s, one.files_s)]
        factors = [significant(factor, 2) for factor in (one.gain, one.worst)]
        rows.append([str(one.rule.ranks), format_size(one.size_bytes), *times, *factors])
    return fitted(columns_of(rows, keys=2), screen())


def _proved_words(turns: Sequence[Alternated], tuning: Tuning) -> str:
    """Return how fast the file is, and at how many sizes that it was not made from."""
    held_out = sum(one.size_bytes not in tuning.sizes for one in turns)
    share = {0: ", all in the runs", len(turns): " not in the runs"}.get(
        held_out, f", {held_out} of them not in the runs"
    )
    return f"{_turns_words(turns)}, at {counted(len(turns), 'size')}{share}"


def _turns_words(turns: Sequence[Alternated]) -> str:
    """Return `1.2 to 1.4 times as fast as the default (1.1 in the worst round)`."""
    worst = significant(min(one.worst for one in turns), 2)
    return f"{format_span(*(one.gain for one in turns))} times as fast as the default ({worst} in the worst round)"


def _dropped_words(rule: Rule, turns: Sequence[Alternated], path: Path) -> str:
    """Return which rule is no longer in the file, and why."""
    of_rule = [one for one in turns if one.rule == rule]
    found = _turns_words(of_rule) if of_rule else "no times in turn"
    wanted = f"{significant(GAIN, 3)} ({significant(1 / HARMLESS, 2)})"
    return f"{rule.where}, {rule.algorithm}, dropped from {path}: {found}; expected {wanted} or more"
