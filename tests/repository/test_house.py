"""The house itself: every module has its test, every room its place, and nothing is too long to be read at once.

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

MOST_NAMES, MOST_LINES, MOST_FUNCTION_LINES, MOST_DOCSTRING_LINES = 20, 250, 40, 10
OWN_FOLDERS = ("cluster", "repository")  # of tests: a whole Slurm, and the files around the package

# modules without a test of their name -> who holds them
UNTESTED = dict(
    line.split(": ", 1)
    for line in """
__main__.py: two lines of every program that a test starts
cli/__init__.py: every test of a command goes through it
cli/health.py: evaluation/test_node_pairs.py calls it
cli/measurement.py: a table of options; test_request.py holds them against the plan
cli/options.py: a table of options; test_request.py holds them against the plan
cli/report.py: one call; report/test_page.py holds the page
cli/run_as_rank.py: test_run.py, over MPI, and test_in_job.py
cli/run_from_outside.py: test_run.py, over MPI, and test_in_job.py
cli/status.py: slurm/test_status.py calls it
cli/import_.py: importers/test_keep.py and test_importers.py call it
""".strip().splitlines()
)
NOT_YET = set(  # to get one
    re.findall(
        r"\S+",
        """
        algorithms/_folding.py algorithms/_ring_phases.py algorithms/_tree_pipeline.py
        algorithms/hierarchical_ring.py algorithms/naive.py algorithms/parameter_server.py
        algorithms/rabenseifner.py algorithms/recursive_doubling.py algorithms/ring.py
        algorithms/tree.py algorithms/two_tree.py evaluation/cell_times.py
        evaluation/comparison/conditions.py evaluation/comparison/document.py
        evaluation/comparison/judgement.py evaluation/comparison/junit.py
        evaluation/comparison/reading.py evaluation/comparison/text.py evaluation/link_limit.py
        evaluation/summary.py importers/columns.py importers/flux.py importers/imb.py
        importers/lines.py importers/nccl.py importers/nccl_json.py importers/osu.py
        importers/pico.py importers/points.py importers/rates.py importers/reading.py
        importers/row.py importers/tidy.py importers/values.py launching/check_launchers.py
        launching/check_mpi.py launching/driver.py launching/find.py launching/launcher.py
        launching/launchers/generic.py launching/launchers/hydra.py launching/launchers/openmpi.py
        launching/launchers/srun.py launching/layout.py launching/scheduler.py
        launching/supervision.py machine/checks.py machine/container.py machine/finding.py
        machine/kernel.py machine/mixed_nodes.py machine/mpi.py machine/networks.py
        measuring/admission.py measuring/command.py measuring/context.py measuring/execute.py
        measuring/hello.py measuring/launch.py measuring/launcher_variables.py measuring/rank.py
        measuring/schedules.py measuring/surroundings.py measuring/vectors/random_floats.py
        models/curves.py models/diagnosis.py models/envelope.py models/forms.py models/intervals.py
        models/joint.py models/listing.py models/model.py models/native/known.py
        models/observations.py models/series.py report/caveat.py report/caveats.py
        report/distribution.py report/figures/fitted.py report/figures/looks.py
        report/figures/scaling.py report/figures/sizes.py report/figures/winners.py
        report/forecast.py report/formats/document.py report/formats/nccl.py report/formats/osu.py
        report/formats/result.py report/formats/tidy.py report/how_imported.py report/pictures.py
        report/table.py report/time_caveats.py report/traffic_sentence.py report/verdict_sentence.py
        runs/command_of_plan.py runs/dtypes.py runs/merge_sources.py runs/recorder.py runs/rows.py
        runs/schema.py runs/shuffle.py runs/start.py schedule/algorithm.py schedule/verify_all.py
        slurm/allocation.py slurm/job_record.py slurm/job_states.py slurm/jobs.py
        slurm/order_table.py slurm/scripts.py slurm/submit.py slurm/sweep.py slurm/tasks.py
        watching/live_line.py watching/unattended.py watching/watch.py
        """,
    )
)
CROSSING = {  # tests that bear no name of a module -> what they hold
    "algorithms/test_user_algorithm.py": "a file of the user, from the command line to a run",
    "cli/test_former_sync.py": "runs of a former start, through every command that reads them",
    "launching/test_on_hosts.py": "launchers on several hosts",
    "launching/test_starting.py": "what is found, started and ended, over MPI",
    "launching/test_virtual_hosts.py": "whole runs on virtual hosts",
    "measuring/test_floors.py": "floors, from the measurement to the report",
    "measuring/test_on_real_mpi.py": "every algorithm, exact over MPI",
    "measuring/test_preflight.py": "what a launch looks at before it measures, over MPI",
    "slurm/test_job_templates.py": "the templates in jobs/",
    "slurm/test_several_jobs.py": "several jobs on one run",
    "slurm/test_submit_all.py": "all are submitted or none",
    "watching/test_hang.py": "ranks that hang, over MPI",
}
LONG_FILES = {
    "evaluation/comparison/judgement.py": "to be split",
    "importers/nccl.py": "to be split",
    "machine/findings.py": "to be split",
    "models/native/resemblance.py": "to be split",
}
LONG_FUNCTIONS = {
    "evaluation/comparison/judgement.py:compare": "to be split",
    "importers/pico.py:_cell": "to be split",
    "importers/tidy.py:_row": "to be split",
    "measuring/command.py:main": "to be split",
    "models/series.py:_fit": "to be split",
    "report/page.py:_section": "to be split",
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
    assert missing == {*UNTESTED} | NOT_YET | NOT_YET


def test_every_test_is_that_of_a_module_or_has_a_reason():
    tests = {str(path.relative_to(TESTS)) for path in TESTS.rglob("test_*.py")}
    tests = {path for path in tests if not path.startswith(OWN_FOLDERS)}
    assert tests - {*map(test_of, SOURCES)} == {*CROSSING}


def test_the_top_floor_holds_few_names():
    names = {path.name for path in PACKAGE.iterdir()} - {"__pycache__", "py.typed"}
    assert len(names) <= MOST_NAMES, sorted(names)


def test_no_file_is_too_long():
    lengths = {relative(path): len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES}
    assert {path for path, length in lengths.items() if length > MOST_LINES} == {*LONG_FILES}


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(parsed(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_no_function_is_too_long():
    lengths = {
        f"{relative(path)}:{function.name}": (function.end_lineno or 0) - function.lineno + 1
        for path in SOURCES
        for function in functions(path)
    }
    assert {name for name, length in lengths.items() if length > MOST_FUNCTION_LINES} == {*LONG_FUNCTIONS}


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
