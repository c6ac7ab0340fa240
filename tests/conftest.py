"""What every test needs: places of its own for what MPIs leave behind, and its turn at the cores."""

import tempfile

import pytest

ALONE = ("cluster", "launching", "machine", "watching")  # folders of tests that look at all processes and at the load


@pytest.fixture(autouse=True)
def own_place_for_session_directories(monkeypatch):
    """Open MPI's mpirun fails where one that was killed, with the same process id, has left its directory."""
    with tempfile.TemporaryDirectory(prefix="mpi.", ignore_cleanup_errors=True) as folder:
        monkeypatch.setenv("PRTE_MCA_prte_tmpdir_base", folder)
        yield


@pytest.fixture(autouse=True)
def no_width_of_whoever_runs_the_tests(monkeypatch):
    """COLUMNS says how wide tables are; readline, which pytest loads, sets it for programs that a test starts."""
    monkeypatch.setenv("COLUMNS", "")  # else what C alone has set would not be unset
    monkeypatch.delenv("COLUMNS")


def pytest_collection_modifyitems(items):
    """Tests over MPI run one after the other, the others beside them, where there are several workers."""
    for item in items:
        if hasattr(item.module, "interpreters") or item.path.parent.name in ALONE:
            item.add_marker(pytest.mark.xdist_group("mpi"))
