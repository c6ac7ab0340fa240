"""What srun is told, and how it is asked by what ranks find each other."""

from pathlib import Path

import pytest

from allreduce_bench.launching.launcher import Launcher, LaunchError
from allreduce_bench.launching.launchers import srun
from allreduce_bench.launching.launchers.srun import options_for

SRUN = Launcher("srun", "MPICH 5.0.2", "srun", ("--mpi=pmi2",))
BARE = "srun -n 4 --mpi=pmi2 --kill-on-bad-exit=1"


def script(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    "launcher, ranks, start, words",
    [
        (SRUN, 4, {}, BARE),
        (
            SRUN,
            4,
            {"variables": ("UCX_TLS=tcp,self", "A=b c")},
            f"{BARE} env UCX_TLS=tcp,self 'A=b c'",
        ),
        (
            SRUN,
            4,
            {"hosts": ("a", "b"), "map_by": "cyclic", "bind_to": "cores", "launcher_args": "-v"},
            "srun -n 4 --mpi=pmi2 --kill-on-bad-exit=1 -N 2 --ntasks-per-node=2 -w a,b "
            "--distribution=cyclic --cpu-bind=cores -v",
        ),
        (
            SRUN,
            2,
            {"hosts": ("a", "b"), "ranks_per_node": 2},
            "srun -n 2 --mpi=pmi2 --kill-on-bad-exit=1 -N 1 --ntasks-per-node=2 -w a",
        ),
    ],
)
def test_what_it_is_told(told, launcher, ranks, start, words):
    assert told(launcher, ranks, **start) == words


def test_in_a_job_the_ranks_are_on_all_its_nodes(told, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "4")
    assert told(SRUN, 6).endswith("-N 4 --ntasks-per-node=2")


@pytest.mark.parametrize(
    "launcher, start, words",
    [
        (SRUN, {"hosts": ("a:2",)}, "srun does not support slots; give host names only and add --ranks-per-node"),
        (SRUN, {"remote_shell": "rsh"}, "--remote-shell: not supported with srun"),
    ],
)
def test_what_it_has_no_words_for_is_refused(told, launcher, start, words):
    with pytest.raises(LaunchError, match=words):
        told(launcher, 4, **start)


@pytest.mark.parametrize(
    "known, library, asked",
    [
        ("srun: MPI types are...\nsrun: none\nsrun: pmi2\nsrun: openmpi", "MPICH 4.2", ("--mpi=pmi2",)),
        ("MPI plugin types are...\n\tnone\n\tpmi2\n\tpmix\nspecific: pmix_v4", "Open MPI 5.0.1", ("--mpi=pmix",)),
        ("MPI plugin types are...\n\tcray_shasta\n\tnone", "MPI VERSION : CRAY MPICH version 8.1", ()),
        ("MPI plugin types are...\n\tcray_shasta\n\tnone", "Open MPI 5.0.1", None),
    ],
)
def test_srun_is_asked_how_ranks_find_each_other(tmp_path, known, library, asked):
    program = script(tmp_path / "srun", f"#!/bin/sh\necho '{known}' >&2\n")
    if asked is None:
        with pytest.raises(
            LaunchError,
            match="needs pmix.*offers cray_shasta, none",
        ):
            options_for(str(program), library, "")
        assert options_for(str(program), library, "--mpi=none") == ()
    else:
        assert options_for(str(program), library, "") == asked


def test_an_srun_that_does_not_answer_knows_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(srun, "PATIENCE_S", 0.3)
    assert srun.kinds_of_srun(str(script(tmp_path / "srun", "#!/bin/sh\nexec sleep 60\n"))) == set()
