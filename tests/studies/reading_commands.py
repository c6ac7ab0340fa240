"""Every command that reads what was kept, called in this process: what came of it, in words and as a status."""

import io
import warnings
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from pathlib import Path
from typing import NamedTuple

from click.testing import CliRunner

from allreduce_bench.cli import main
from allreduce_bench.programs.agreement import Shape
from allreduce_bench.programs.choices import ChoiceError, find_lookup
from allreduce_bench.schedule.algorithm import Topology

USUAL = (0, 1, 2)  # exit statuses


class Reading(NamedTuple):
    """What a command said."""

    status: int
    out: str
    err: str
    error: BaseException | None = None  # that came through


COMMANDS: dict[str, Callable[[str, str], Sequence[str]]] = {  # name -> its words about a path, with a place to write to
    "runs": lambda path, place: ["runs", path],
    "show": lambda path, place: ["show", path],
    "show csv": lambda path, place: ["show", path, "--format", "csv"],
    "show json": lambda path, place: ["show", path, "--format", "json"],
    "show nccl": lambda path, place: ["show", path, "--format", "nccl"],
    "report": lambda path, place: ["report", path, "-o", f"{place}/page/report.html"],
    "fit": lambda path, place: ["fit", path, "-o", f"{place}/fitted.json"],
    "compare": lambda path, place: ["compare", path, "--undecided", "pass", "--despite", "all"],
    "stragglers": lambda path, place: ["stragglers", path],
    "status": lambda path, place: ["status", path],
    "collect": lambda path, place: ["collect", path, "-o", f"{place}/collected/report.html"],
    "merge": lambda path, place: ["collect", path, "-o", f"{place}/merged"],
    "health": lambda path, place: ["health", "--from", path],
    "predict": lambda path, place: ["predict", path, "-n", "2,4"],
}
OF_TWO = ("compare", "merge")  # runs
OF_A_RUN = ("runs", "show", "show json", "fit", "stragglers")  # the quick ones


def read(name: str, path: Path, place: Path, other: Path | None = None) -> Reading:
    """What the command, or `choice` of Allreduce, says of `path`, and of the `other` run; it writes to `place`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name == "choice":
            return _choice(path)
        command, *words = COMMANDS[name](str(path), str(place))
        result = CliRunner().invoke(main, [command, *([str(other)] if other else []), *words])
    error = None if isinstance(result.exception, SystemExit) else result.exception
    return Reading(result.exit_code, result.stdout, result.stderr, error)


def _choice(path: Path) -> Reading:
    """What `Allreduce(choice=path)` does first; its errors are those that programs get."""
    said = io.StringIO()
    try:
        with redirect_stderr(said):
            lookup = find_lookup(path)
        chosen = [lookup(Shape(count, "float32", "sum"), Topology.one_node(n)) for n in (2, 4) for count in (2, 256)]
    except (ChoiceError, ValueError, OSError) as error:
        return Reading(2, "", f"error: {error}")
    except Exception as error:  # noqa: BLE001  # what it is, is the finding
        return Reading(1, "", "", error)
    return Reading(0, str(chosen), said.getvalue())


def fault_of(reading: Reading) -> str:
    """What is wrong with how a command ended, whatever it read; empty: nothing."""
    if reading.error is not None:
        return f"{type(reading.error).__name__}: {reading.error}"
    lines = reading.err.splitlines()
    if reading.status not in USUAL:
        return f"status {reading.status}"
    if reading.status == 2 and not (lines and lines[-1].startswith("error: ") and len(lines[-1]) > len("error: ")):
        return f"refused without a word: {lines[-1:]}"
    return ""
