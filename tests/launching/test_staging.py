"""`run --stage`: the environment is unpacked privately, ranks start from it, and nothing is left behind."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from has_message import message_pattern
from interpreters import in_turn, interpreters
from places import SUPPORT
from small_environment import small_environment
from staged_environment import staged

from allreduce_bench.launching import staging
from allreduce_bench.launching.staging import PACKAGE, Stage, StageError, archive_of, stage
from allreduce_bench.message import say
from allreduce_bench.runs.start import Start

ROOT, NODE = PACKAGE.parent, os.uname().nodename
HOSTILE = ["with blanks", "a'b\"c", "$(touch hacked)", "`touch hacked`", "a; touch hacked", "-rf", "*", "ä%n\\", "&|<>"]
HOLDING = """
import sys, time
from pathlib import Path
from staged_environment import staged
held = staged(Path(sys.argv[1]), Path(sys.argv[2]))
print(held.folder, flush=True)
time.sleep(60)
"""


@pytest.fixture(autouse=True)
def no_job(monkeypatch):
    for name in [name for name in os.environ if name.startswith(("SLURM_", "PBS_", "LSB_", "FLUX_"))]:
        monkeypatch.delenv(name)


def refusal(folder: Path, parent: Path) -> str:
    with pytest.raises(StageError) as refused:
        staged(folder, parent)
    assert "\n" not in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize("name", HOSTILE)
def test_the_environment_is_there_for_its_user_alone_and_removed_at_the_end(tmp_path, name):
    parent = tmp_path / name
    parent.mkdir()
    held = staged(tmp_path, parent)
    assert list(parent.iterdir()) == [held.folder] and held.folder.stat().st_mode & 0o777 == 0o700
    assert (held.folder / "lib/site-packages/numpy.py").is_file()
    program = held.program
    assert Path(program[-1]).is_file() and os.access(program[-2], os.X_OK)
    assert held.facts["archive_nbytes"] > 10_000 and held.facts["unpack_s"] > 0 and held.facts["pack_s"] > 0
    held.close()
    assert not list(parent.iterdir()) and not (tmp_path / "hacked").exists()


@pytest.mark.parametrize("name", ["a\nb", "a:b", "a=b", "\x1b[31m"])
def test_names_that_variables_or_terminals_would_misread_are_refused(tmp_path, name):
    with pytest.raises(StageError, match=message_pattern("launching.stage_name_not_contain")):
        stage(str(tmp_path / name), tmp_path / "run", Start())


def test_no_folder_asked_for_stages_nothing(tmp_path):
    assert stage("", tmp_path / "run", Start()) is None and not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there_is_named(tmp_path):
    assert refusal(tmp_path, tmp_path / "no such") == f"--stage: {NODE}: no such folder: {tmp_path}/no such"


def test_a_folder_in_which_others_could_swap_ours_is_refused(tmp_path):
    parent = tmp_path / "scratch"
    parent.mkdir()
    parent.chmod(0o777)
    assert "sticky bit" in refusal(tmp_path, parent) and not list(parent.iterdir())
    parent.chmod(0o1777)
    shutil.rmtree(tmp_path / "environment")
    staged(tmp_path, parent).close()


@pytest.mark.parametrize("trap", ["link to a folder", "dead link", "file"])
def test_what_is_in_the_way_is_neither_used_nor_removed(tmp_path, monkeypatch, trap):
    monkeypatch.setattr(staging, "token_hex", lambda nbytes: "guessed")
    place = tmp_path / "tmp" / f"allreduce-bench-{os.geteuid()}-{os.getpid()}-guessed"
    victim = tmp_path / "victim"
    victim.mkdir()
    place.parent.mkdir()
    if trap == "file":
        place.write_text("mine")
    else:
        place.symlink_to(victim if trap == "link to a folder" else tmp_path / "nowhere")
    assert "File exists" in refusal(tmp_path, place.parent)
    assert place.is_symlink() or place.is_file()
    assert not list(victim.iterdir()) and not (tmp_path / "nowhere").exists()


def test_a_node_without_room_is_named_with_what_is_needed(tmp_path):
    what = small_environment(tmp_path / "environment")
    huge = archive_of(what, tmp_path / "store")._replace(nbytes=1 << 60)
    (tmp_path / "tmp").mkdir()
    needs = f"in {tmp_path / 'tmp'}: needs {1 << 40} MiB"
    with pytest.raises(StageError, match=f"^--stage: .*{re.escape(needs)}"):
        Stage(tmp_path / "tmp", huge, what)
    assert not list((tmp_path / "tmp").iterdir())


def test_an_archive_that_cannot_be_unpacked_leaves_nothing(tmp_path):
    what = small_environment(tmp_path / "environment")
    archive = archive_of(what, tmp_path / "store")
    os.truncate(archive.path, archive.nbytes // 2)
    (tmp_path / "tmp").mkdir()
    cut_off = f"{archive.path} is incomplete: {archive.nbytes // 2} of {archive.nbytes} bytes"
    with pytest.raises(StageError, match=f"^--stage: .*{re.escape(cut_off)}"):
        Stage(tmp_path / "tmp", archive, what)
    archive.path.unlink()  # as where a node does not have the shared file system
    with pytest.raises(StageError, match=r"^--stage: .*No such file"):
        Stage(tmp_path / "tmp", archive, what)
    assert not list((tmp_path / "tmp").iterdir())


def test_an_interpreter_that_the_node_does_not_have_is_named(tmp_path):
    what = small_environment(tmp_path / "environment")
    (what.prefix / "bin/python").unlink()
    (what.prefix / "bin/python").symlink_to("/opt/nobody/python")
    (tmp_path / "tmp").mkdir()
    with pytest.raises(StageError, match="^--stage: .*interpreter.*: /opt/nobody/python$"):
        Stage(tmp_path / "tmp", archive_of(what, tmp_path / "store"), what)
    assert not list((tmp_path / "tmp").iterdir())


def test_it_is_removed_when_its_process_is_killed(tmp_path):
    (tmp_path / "tmp").mkdir()
    environ = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{SUPPORT}"}
    words = [sys.executable, "-c", HOLDING, tmp_path, tmp_path / "tmp"]
    with subprocess.Popen(words, env=environ, stdout=subprocess.PIPE, text=True) as holding:
        folder = Path(holding.stdout.readline().strip())
        assert (folder / ".whole").exists()
        holding.kill()
    deadline = time.time() + 60
    while folder.exists() and time.time() < deadline:
        time.sleep(0.05)
    assert not folder.exists()


def test_what_a_killed_holder_left_is_removed_by_the_next_and_nothing_else(tmp_path):
    parent = tmp_path / "tmp"
    parent.mkdir()
    held, killed = staged(tmp_path / "1", parent), staged(tmp_path / "2", parent)
    killed._signal(signal.SIGKILL)
    killed.close()
    other = parent / f"allreduce-bench-{os.geteuid()}-of-somebody"
    other.mkdir()
    assert killed.folder.exists()
    last = staged(tmp_path / "3", parent)
    assert {*parent.iterdir()} == {held.folder, last.folder, other}
    held.close()
    last.close()
    assert [*parent.iterdir()] == [other]


def test_the_nodes_of_a_job_are_reached_by_srun_and_may_share_the_folder(tmp_path, monkeypatch):
    """Two nodes as one machine: what the first unpacks is ready for the second, and removed once."""
    (tmp_path / "srun").write_text(
        f"""#!/bin/bash
[[ $1 == --help ]] && {{ echo "      --overlap   share"; exit; }}
echo "$@" > {tmp_path}/said
while [[ $1 != sh ]]; do shift; done
mkfifo {tmp_path}/second
"$@" < {tmp_path}/second & "$@" < <(tee {tmp_path}/second); wait
"""
    )
    (tmp_path / "srun").chmod(0o755)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_JOB_ID", "77")
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "2")
    held = staged(tmp_path, tmp_path / "tmp")
    assert held.folder.name.startswith(f"allreduce-bench-{os.geteuid()}-77-")
    assert (tmp_path / "said").read_text().startswith("--overlap --nodes=2 --ntasks=2 --ntasks-per-node=1 ")
    assert (held.folder / ".whole").exists()
    held.close()
    assert not list((tmp_path / "tmp").iterdir())


def test_nodes_that_do_not_answer_are_counted_with_what_srun_says(tmp_path, monkeypatch):
    (tmp_path / "srun").write_text("#!/bin/sh\necho 'srun: error: Node failure on n2' >&2\nexit 1\n")
    (tmp_path / "srun").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_JOB_ID", "77")
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "2")
    assert refusal(tmp_path, tmp_path) == say(
        "launching.stage_nodes_became_ready", ready=0, nodes=2, last_line="; srun: error: Node failure on n2"
    )


def test_nodes_that_only_a_job_reaches_are_refused(tmp_path, monkeypatch):
    with pytest.raises(
        StageError, match=message_pattern("launching.stage_works_node_slurm", evidence="--hosts names n2")
    ):
        stage("/tmp", tmp_path / "run", Start(hosts=("localhost", "n2")))
    monkeypatch.setenv("PBS_JOBID", "1")
    with pytest.raises(StageError, match="but PBS_JOBID is set"):
        stage("/tmp", tmp_path / "run", Start())


@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
def test_ranks_start_from_the_folder_with_the_mpi_that_is_there(python, tmp_path):
    """From inside the checkout, with PYTHONPATH leading there: the staged package is the one that is imported."""
    in_turn(1, python)  # the smaller environment, where torch is in the other one
    parent = tmp_path / "$(touch hacked) 'a' \"b\"; c"
    parent.mkdir()
    words = ["-n", "2", "--sizes", "8", "-a", "native,ring", "--iters", "3", "--launches", "1"]
    words += ["--identify=never"]
    run = [python, "-m", "allreduce_bench", "run", *words, "-o", tmp_path / "run", "--stage", parent]
    done = subprocess.run(
        run, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    facts = json.loads((tmp_path / "run" / "launches" / "2r-1.1.json").read_text())
    folder = facts["stage"]["folder"]
    assert folder.startswith(f"{parent}/allreduce-bench-") and facts["stage"]["archive_nbytes"] > 1 << 20
    if facts["mpi"]["from_pypi"]:
        assert facts["mpi"]["path"].startswith(folder)
    assert f"{folder}/lib" in facts["command"].replace("'\"'\"'", "'") and not list(parent.iterdir())
    assert not (ROOT / "hacked").exists() and not (tmp_path / "hacked").exists()


def test_a_folder_that_cannot_be_staged_leaves_no_run(tmp_path):
    if not interpreters():
        pytest.skip("no interpreter here has an MPI")
    words = ["-n", "2", "--sizes", "8", "-o", str(tmp_path / "run"), "--stage", str(tmp_path / "a:b")]
    done = subprocess.run(
        [interpreters()[0], "-m", "allreduce_bench", "run", *words], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and done.stderr.startswith("error: --stage ")
    assert not list(tmp_path.iterdir())
