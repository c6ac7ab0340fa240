"""What every test needs: places of its own for what MPIs leave behind, its turn at the cores, and patience there."""

import gc
import signal
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import mpi4py
import pytest
from hypothesis import HealthCheck, settings

from allreduce_bench.lab.lab import why_no_lab
from allreduce_bench.watching import progress

settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])  # cores are shared
settings.load_profile("busy")

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as of a shell that starts the tests in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)  # programs that tests start would ignore it, too

mpi4py.rc.initialize = False  # MPI takes a second to start: not where a test's own process only imports it

MEASURING = ("health", "lab", "measuring", "training")  # folders of tests of which those over MPI measure
ALONE = ("cluster", "launching", "machine", "watching")  # folders of tests that look at all processes and at the load


@pytest.hookimpl(hookwrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep compiled tests, whatever PYTHONDONTWRITEBYTECODE says; look for no garbage, since all that is made stays."""
    as_set, sys.dont_write_bytecode = sys.dont_write_bytecode, False
    gc.disable()
    yield
    gc.enable()
    sys.dont_write_bytecode = as_set


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


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Tests that take turns over MPI, or in the browser, go to one worker; the rest goes file by file."""
    from xdist.scheduler import LoadScopeScheduling

    class Turns(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return turn_of(config.rootpath / nodeid.partition("::")[0])

    return Turns(config, log)


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


@cache
def turn_of(path: Path) -> str:
    """What a file of tests is in turns with: tests that measure or watch, or other ones over MPI; else itself alone."""
    folder = path.parent.name
    if folder == "browser":
        return folder  # which is started once
    if folder in ALONE or "interpreters" in path.read_text():
        return "measuring over MPI" if folder in (*ALONE, *MEASURING) else "over MPI"
    return str(path)
