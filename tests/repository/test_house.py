"""The house itself: every module has its test, every room its place.

A room is a folder right below the package, with all that stands below it: its subpackages are parts of it, not rooms.
The modules of the top floor are rooms of one module each. What is listed below as an exception fails the test, too, as
soon as it is none any more.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from places import PACKAGE, TESTS

MOST_NAMES, MOST_DOCSTRING_LINES = 25, 10
OWN_FOLDERS = ("browser", "cluster", "repository")  # of tests: pages as people see them, a whole Slurm, all other files

UNTESTED = {  # modules without a test of their name -> who holds them
    "__init__.py": "programs/test_step_monitor.py and test_allreduce.py, with what it offers",
    "__main__.py": "two lines of every program that a test starts",
    "algorithms/_folding.py": "algorithms/test_algorithms.py, with the algorithms that fold",
    "algorithms/_ring_phases.py": "algorithms/test_algorithms.py and test_hierarchical_ring.py",
    "algorithms/_tree_pipeline.py": "algorithms/test_algorithms.py and test_two_tree.py",
    "algorithms/naive.py": "algorithms/test_algorithms.py holds the whole family",
    "algorithms/parameter_server.py": "algorithms/test_algorithms.py holds the whole family",
    "algorithms/rabenseifner.py": "algorithms/test_algorithms.py holds the whole family",
    "algorithms/recursive_doubling.py": "algorithms/test_algorithms.py holds the whole family",
    "algorithms/ring.py": "algorithms/test_algorithms.py holds the whole family",
    "algorithms/tree.py": "algorithms/test_algorithms.py holds the whole family",
    "cli/endings.py": "cli/test_schedules.py, with the command that writes them",
    "cli/__init__.py": "every test of a command goes through it",
    "cli/health_check.py": "cli/test_health.py, on virtual hosts",
    "cli/import_.py": "importers/test_keep.py calls it",
    "cli/measurement.py": "a table of options; cli/test_request.py holds them against the plan",
    "cli/options.py": "a table of options; cli/test_request.py holds them against the plan",
    "cli/report.py": "one call; report/test_page.py holds the page",
    "cli/run_as_rank.py": "cli/test_run.py and cli/test_in_job.py, over MPI",
    "cli/run_from_outside.py": "cli/test_run.py and cli/test_in_job.py, over MPI",
    "cli/status.py": "slurm/test_status.py calls it",
    "cli/workload_costs.py": "cli/test_workload.py, through the command",
    "cli/workload_ranks.py": "cli/test_workload_measure.py, over MPI",
    "cli/workload_groups.py": "cli/test_workload.py, through the command",
    "cli/workload_request.py": "cli/test_workload.py, through the command",
    "executing/kernel.py": "executing/test_compiled.py, over MPI",
    "executing/symbols.py": "executing/test_compiled.py, over MPI",
    "importers/tools/__init__.py": "importers/test_reading.py, which finds the tools through it",
    "measuring/back_to_back.py": "executing/test_compiled.py, over MPI, and cli/test_run.py",
    "measuring/cell.py": "binds, checks and times over MPI only: cli/test_run.py, measuring/test_in_groups.py",
    "measuring/compiling.py": "executing/test_compiled.py, over MPI",
    "measuring/node_pairs.py": "ranks of health: cli/test_health.py, launching/test_pair_launch.py, on hosts",
    "measuring/pair_messages.py": "messages of that program, tested with it",
    "measuring/one_step.py": "measuring/test_training_step.py, over MPI",
    "measuring/step_binding.py": "measuring/test_training_step.py, over MPI",
    "measuring/step_buckets.py": "measuring/test_training_step.py, over MPI",
    "measuring/step_gradients.py": "measuring/test_step_cycles.py, over MPI",
    "measuring/step_request.py": "measuring/test_training_step.py, over MPI",
    "measuring/step_streams.py": "measuring/test_training_step.py, over MPI",
    "measuring/step_work.py": "measuring/test_training_step.py, over MPI",
    "measuring/hello.py": "a program that two ranks of doctor run: launching/test_check_mpi.py",
    "programs/transport.py": "programs/test_mpi_transport.py and test_torch_transport.py, which are such",
    "programs/agreement.py": "programs/test_allreduce.py, over MPI",
    "programs/bound.py": "programs/test_allreduce.py, over MPI",
    "programs/passing_on.py": "programs/test_wrapped.py, over MPI",
    "programs/prepared.py": "programs/test_allreduce.py, over MPI",
    "launching/supervision.py": "watching/test_hang.py and cli/test_run.py, whole launches over MPI",
    "launching/wrapped_rank.py": "launching/test_own_program.py, over MPI",
    "programs/errors.py": "launching/test_own_program.py, with a rank that fails",
    "models/native/comparison.py": "models/native/test_guidelines.py and test_rivals.py, which hold what it tells",
    "report/caveats.py": "report/test_page.py and test_statistics_of_calls.py, on whole runs",
    "report/distribution.py": "report/test_statistics_of_calls.py, with the statistics that it shows",
    "report/figures/__init__.py": "report/test_pictures.py, which finds the figures through it",
    "report/figures/sizes.py": "measuring/test_floors.py and report/test_drawn_bounds.py",
    "report/forecast.py": "cli/test_predict.py, through the command",
    "report/how_imported.py": "importers/test_keep.py, on imported runs",
    "report/native_section.py": "report/test_page.py, on whole runs",
    "report/origin.py": "report/test_page.py and importers/test_keep.py, on whole runs",
    "report/time_table.py": "report/test_page.py, on whole runs",
}
CROSSING = {  # tests that bear no name of a module -> what they hold
    "algorithms/test_find.py": "algorithms found by name and by file",
    "cli/test_damaged_folders.py": "a sample of studies/damaged_folders.py",
    "cli/test_damaged_inputs.py": "a sample of studies/damaged_inputs.py",
    "cli/test_damaged_runs.py": "a sample of studies/damaged_runs.py",
    "cli/test_former_sync.py": "runs of a former start, through every command that reads them",
    "cli/test_full_disk.py": "what commands leave on a full disk",
    "cli/test_input.py": "files that users name, of whatever kind and length",
    "cli/test_output.py": "-o of every command, of whatever may be there",
    "cli/test_repeat_command.py": "the command that repeats a run, read back by the options of `run`",
    "evaluation/test_false_winners.py": "a sample of studies/winners.py",
    "evaluation/test_several_executors.py": "one algorithm by several executors, from the summary to fit and compare",
    "launching/test_on_hosts.py": "launchers on several hosts",
    "launching/test_starting.py": "what is found, started and ended, over MPI",
    "launching/test_third_mpi.py": "a sample of what runs, watches and ends, on Intel MPI",
    "launching/test_virtual_hosts.py": "whole runs on virtual hosts",
    "lateness/test_operating_curve.py": "a sample of studies/operating_curve.py",
    "lateness/test_false_causes.py": "a sample of studies/false_causes.py",
    "measuring/test_floors.py": "floors, from the measurement to the report",
    "pages/test_scripts.py": "the scripts of pages, played by node",
    "report/test_statistics_of_calls.py": "statistics of calls, from the rows to the page",
    "runs/test_power_cuts.py": "a sample of studies/power_cuts.py",
    "slurm/test_job_templates.py": "the templates in jobs/",
    "slurm/test_several_jobs.py": "several jobs on one run",
    "watching/test_hang.py": "ranks that hang, over MPI",
    "watching/test_hang_compiled.py": "ranks that hang in compiled code, over MPI",
    "watching/test_kills.py": "a sample of studies/kills.py",
}

SOURCES = sorted(PACKAGE.rglob("*.py"))
ROOMS = sorted(path.parent for path in PACKAGE.glob("*/__init__.py"))


def relative(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def has_code(path: Path) -> bool:
    """Whether a file holds more than a docstring, imports and constants."""
    return any(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in parsed(path).body)


def test_of(path: Path) -> str:
    """Where the test of a module stands below tests/; that of a subpackage as a whole stands beside its folder."""
    if path.stem == "__init__":
        package = path.parent.relative_to(PACKAGE)
        return str((package if path.parent in ROOMS else package.parent) / f"test_{package.name}.py")
    return str(path.parent.relative_to(PACKAGE) / f"test_{path.stem.strip('_')}.py")


test_of.__test__ = False  # it is none
NEED_TESTS = {relative(path): test_of(path) for path in SOURCES if path.stem != "__init__" or has_code(path)}


def test_every_module_has_its_test_or_a_reason():
    missing = {path for path, test in NEED_TESTS.items() if not (TESTS / test).exists()}
    assert missing == {*UNTESTED}


def test_every_test_is_that_of_a_module_or_has_a_reason():
    tests = {str(path.relative_to(TESTS)) for path in TESTS.rglob("test_*.py")}
    tests = {path for path in tests if not path.startswith(OWN_FOLDERS)}
    assert tests - {*map(test_of, SOURCES)} == {*CROSSING}


def test_the_top_floor_holds_few_names():
    names = {path.name for path in PACKAGE.iterdir()} - {"__pycache__", "py.typed"}
    assert len(names) <= MOST_NAMES, sorted(names)


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_a_room_says_in_few_lines_what_it_is(room):
    docstring = ast.get_docstring(parsed(room / "__init__.py"))
    assert docstring and len(docstring.splitlines()) <= MOST_DOCSTRING_LINES


def module_name(path: Path) -> str:
    """`runs.plan`; of a package's own code `runs`; of the whole package the empty name."""
    return re.sub(r"(^|\.)__init__$", "", relative(path).removesuffix(".py").replace("/", "."))


MODULES = {module_name(path): path for path in SOURCES}


def runtime_imports(tree: ast.AST) -> Iterator[ast.ImportFrom]:
    """The `from … import` statements, late ones in functions included, those for type checkers alone left out."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.expr):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.ImportFrom):
            yield node
        yield from runtime_imports(node)


def imported_modules(name: str) -> set[str]:
    """The modules of this package that module `name` imports; a name that is no module counts as its module's."""
    path, modules = MODULES[name], set()
    package = name.split(".") if path.stem == "__init__" else name.split(".")[:-1]
    for node in runtime_imports(parsed(path)):
        if node.level:
            above = [part for part in package if part][: len(package) - node.level + 1]
            source = ".".join([*above, *filter(None, [node.module])])
        elif (node.module or "").startswith(PACKAGE.name):
            source = (node.module or "").removeprefix(PACKAGE.name).lstrip(".")
        else:
            continue
        for alias in node.names:
            inner = f"{source}.{alias.name}".lstrip(".")
            modules.add(inner if inner in MODULES else source)
    return modules - {name}


def circle(edges: dict[str, set[str]]) -> list[str]:
    """What is left when everything is taken away, again and again, that imports nothing that is left: the circles."""
    left = dict(edges)
    while free := [name for name, targets in left.items() if not targets & left.keys()]:
        for name in free:
            del left[name]
    return sorted(left)


@cache
def all_imports() -> dict[str, set[str]]:
    """Of every module the modules that it imports."""
    return {name: imported_modules(name) for name in MODULES}


def test_imports_are_found():
    assert {"runs.plan", "runs.folder"} <= all_imports()["runs.recorder"]
    assert all_imports()["cli.report"] >= {"cli.types", "report.page", "runs.folder", "slurm.sweep"}
    assert set().union(*all_imports().values()) <= MODULES.keys()


def test_no_modules_import_each_other_in_a_circle():
    assert circle({"a": {"b"}, "b": {"a"}, "c": {"a"}, "d": set()}) == ["a", "b", "c"]
    assert circle(all_imports()) == []


def test_no_rooms_import_each_other_in_a_circle():
    rooms: dict[str, set[str]] = {}
    for name, targets in all_imports().items():
        room = name.partition(".")[0]
        rooms.setdefault(room, set()).update({target.partition(".")[0] for target in targets} - {room})
    assert circle(rooms) == []
