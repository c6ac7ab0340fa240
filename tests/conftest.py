"""What every test needs: places of its own for what MPIs leave behind."""

import tempfile

import pytest


@pytest.fixture(autouse=True)
def own_place_for_session_directories(monkeypatch):
    """Open MPI's mpirun fails where one that was killed, with the same process id, has left its directory."""
    with tempfile.TemporaryDirectory(prefix="mpi.", ignore_cleanup_errors=True) as folder:
        monkeypatch.setenv("PRTE_MCA_prte_tmpdir_base", folder)
        yield
