"""What every test needs: places of its own for what MPIs leave behind, its turn at the cores, and patience there."""

import gc
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import mpi4py
import pytest
from hypothesis import HealthCheck, settings
from interpreters import answers, mark_of
from pool import Pool

from allreduce_bench.lab.lab import why_no_lab
from allreduce_bench.launching.supervisor import Supervisor
from allreduce_bench.watching import progress

settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])  # cores are shared
settings.load_profile("busy")

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as of a shell that starts the tests in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)  # programs that tests start would ignore it, too

mpi4py.rc.initialize = False  # MPI takes a second to start: not where a test's own process only imports it

FOLDERS = {"cluster": pytest.mark.slurm, "browser": pytest.mark.browser}  # what all tests of a folder need


@pytest.hookimpl(hookwrapper=True, tryfirst=True)  # before -m chooses, and after files and tests are shuffled
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Set the marks that follow from a test's folder and MPI; tests over MPI, which take longest, go first."""
    for item in items:
        found = [FOLDERS.get(item.path.parent.name)]
        if callspec := getattr(item, "callspec", None):
            found.append(mark_of(callspec.params.get("python")))
        for mark in filter(None, found):
            item.add_marker(mark)
    yield
    items.sort(key=lambda item: "python" not in item.fixturenames)


@pytest.hookimpl(hookwrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep compiled tests, whatever PYTHONDONTWRITEBYTECODE says; look for no garbage, since all that is made stays."""
    as_set, sys.dont_write_bytecode = sys.dont_write_bytecode, False
    gc.disable()
    yield
    gc.enable()
    sys.dont_write_bytecode = as_set


@pytest.fixture(autouse=True, scope="session")
def wide_output() -> None:
    """Give what tests run long lines: they look for whole sentences."""
    os.environ["COLUMNS"] = "1000"


@pytest.fixture(autouse=True)
def own_place_for_session_directories(monkeypatch):
    """Open MPI's mpirun fails where one that was killed, with the same process id, has left its directory."""
    with tempfile.TemporaryDirectory(prefix="mpi.", ignore_cleanup_errors=True) as folder:
        monkeypatch.setenv("PRTE_MCA_prte_tmpdir_base", folder)
        yield


@pytest.fixture(autouse=True, scope="session")
def no_files_of_whoever_runs_the_tests(tmp_path_factory):
    """Fixtures of several tests begin in an empty folder, too; the user's own files of systems are not read."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("session"))
        patch.setenv("XDG_CONFIG_HOME", "/dev/null")  # no folder
        yield


@pytest.fixture(autouse=True)
def own_working_folder(tmp_path, monkeypatch):
    """Commands that are given no run take the newest of results/: of the test's own, not of the clone."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True, scope="session")
def no_width_of_whoever_runs_the_tests():
    """COLUMNS says how wide tables are; readline, which pytest loads, sets it for programs that a test starts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "")  # else what C alone has set would not be unset
        patch.delenv("COLUMNS")
        yield


@pytest.fixture(autouse=True, scope="session")
def no_fits_of_before():
    """What a test fits is fitted there, and nothing is left in the home of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MPLCONFIGDIR", str(Path.home() / ".cache" / "matplotlib"))  # else it looks for fonts each time
        patch.setenv("XDG_CACHE_HOME", "/dev/null")  # no folder
        yield


@pytest.fixture(autouse=True, scope="session")
def patient_lines():
    """On slow cores a command would say what it does, among what a test expects on stderr."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(progress, "QUIET_S", 600.0)
        yield


@pytest.fixture(autouse=True, scope="session")
def ranks_that_yield():
    """Two workers share the cores: a rank of Open MPI that spins would keep its core from whom it waits for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMPI_MCA_mpi_yield_when_idle", "1")
        yield


@pytest.fixture(scope="session")
def pools() -> Iterator[dict[Path, Pool]]:
    """Interpreter -> ranks of its MPI that wait for functions."""
    pool_of: dict[Path, Pool] = {}
    yield pool_of
    for pool in pool_of.values():
        pool.end()


@pytest.fixture
def on_ranks(request, pools):
    """Call `on_ranks(3, "module.function", word, is_so=True)`: what `function(comm, word, is_so=True)` returned there.

    The module is one of `tests/ranks`; the MPI is that of the test's `python`, or of whoever runs the tests.
    """
    has_python = "python" in request.fixturenames
    python = request.getfixturevalue("python") if has_python else Path(sys.executable)

    def call(ranks: int, function: str, *words: object, **options) -> list:
        if python in pools and not pools[python].is_there:
            pools.pop(python).end()
        if python not in pools:
            pools[python] = Pool(python)
        return pools[python].call(ranks, function, *words, **options)

    return call


@pytest.fixture
def run_on_ranks(on_ranks, monkeypatch) -> Callable[..., subprocess.CompletedProcess]:
    """`run_on_ranks("-n", 2, ...)`: the command `run`, in this process, whose launches ranks of `on_ranks` measure.

    They do so by the function `by`, as another one that patches something and calls it.
    """
    from measured_runs import here  # late, as what follows: few tests measure

    from allreduce_bench.launching import launches
    from allreduce_bench.launching.watched_launch import LaunchRefused

    def run(*words: object, by: str = "measured_launch.measure") -> subprocess.CompletedProcess:
        def measure_launch(start, run, launch, position, lines) -> bool:
            limits = {"deadline": position.deadline} if position.deadline else {}
            status, said = on_ranks(launch.ranks, by, run.folder.path, launch.name, limit_s=600.0, **limits)[0]
            if status == 2:
                raise LaunchRefused(said.strip().removeprefix("error: "))
            for line in said.splitlines():
                lines.say(line)
            return bool(run.folder.finished(launch))

        monkeypatch.setattr(launches, "measure_launch", measure_launch)
        handlers = {number: signal.getsignal(number) for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGHUP)}
        try:
            return here("run", "--identify=never", *words)
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)

    return run


def pytest_terminal_summary(terminalreporter) -> None:
    """Name the interpreters that were named and find no MPI: what needs them did not run."""
    for python in answers() if os.environ.get("ALLREDUCE_BENCH_PYTHONS") else ():
        if not answers()[python]:
            terminalreporter.line(f"SKIPPED: {python} finds no MPI")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Two workers take file by file; the browser, started once, is one worker's."""
    from xdist.scheduler import LoadScopeScheduling

    class Files(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            path = Path(nodeid.partition("::")[0])
            return path.parent.name if path.parent.name == "browser" else str(path)

    config.option.loadscopereorder = False  # the order of collection
    return Files(config, log)


@pytest.fixture
def words_only(monkeypatch) -> None:
    """Reports without figures, which take long."""
    from allreduce_bench.report import page

    monkeypatch.setattr(page, "time_pictures", lambda *_: [])
    monkeypatch.setattr(page, "model_pictures", lambda *_: [])


@pytest.fixture(scope="session")
def needs_lab() -> None:
    """Virtual hosts; where none can be made, tests that use this are skipped with the reason."""
    if reason := why_no_lab():
        pytest.skip(reason)


@pytest.fixture
def supervise() -> Iterator[Callable[..., Supervisor]]:
    """Supervisors that a test starts, closed at its end."""
    made = []

    def make(size: int, timeout_s: float = 0.4, **options) -> Supervisor:
        made.append(Supervisor(size, timeout_s, local=True, **options))
        return made[-1]

    yield make
    for supervisor in made:
        supervisor.close()
