"""The doctor of a Slurm site, without one: programs in place of Slurm's say literally what 22.05 says."""

import json
import sys
import time
from contextlib import contextmanager

import pytest
from slurm_programs import SlurmPrograms

from allreduce_bench.launching import check_mpi
from allreduce_bench.machine.checks import Check
from allreduce_bench.slurm import check_site, commands

UNLIMITED = "infinite"  # as Slurm says it

NODE: dict = {"port_rates_bytes_per_s": {}}
LIBRARY = {"library": "MPICH 4.2.0", "standard": "4.1", "path": "/opt/mpich/lib/libmpi.so", "from_pypi": False}
SINFO = """\
batch*|up|1-00:00:00|1-infinite|3|idle|n[1-2,4]
batch*|up|1-00:00:00|1-infinite|1|down*|n3
debug|up|30:00|1-2|2|mixed|n[1-2]
gpu|drain|infinite|1-infinite|2|idle|gpu-[01-02]
"""
KINDS = "MPI plugin types are...\n\tpmix\n\tnone\n\tpmi2\nspecific pmix plugin versions available: pmix_v4\n"


@pytest.fixture
def slurm(tmp_path, monkeypatch) -> SlurmPrograms:
    """A site of four nodes, seen from a login node."""
    programs = SlurmPrograms(tmp_path / "bin", monkeypatch)
    for name, text in (("sinfo.txt", SINFO), ("kinds.txt", KINDS)):
        (programs.folder / name).write_text(text)
    programs.answer("sinfo", '[ "$1" = --version ] && echo slurm 23.02.4 || cat sinfo.txt')
    programs.answer("scontrol", '[ $1 = ping ] && echo "Slurmctld(primary) at c1 is UP"')
    programs.answer("srun", "cat kinds.txt")
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    monkeypatch.setattr(check_site, "library", lambda: LIBRARY)
    return programs


def site(*words: str, launch: bool = True) -> list[Check]:
    return list(check_site.checks_of_slurm(words, launch, NODE))


def named(found: list[Check], name: str) -> list[tuple[str, str]]:
    return [(check.level, check.text) for check in found if check.name == name]


def granting(*checks: Check, before: str = "") -> str:
    """What salloc does that gives two nodes: it runs the program, which prints `checks`."""
    printed = "\n".join(f"{check_mpi.CHECK_PREFIX}{json.dumps(check)}" for check in checks)
    return f"echo 'salloc: Granted job allocation 17' >&2\n{before}\ncat <<'EOF'\nnoise\n{printed}\nEOF"


def test_sinfo_is_read():
    batch, debug, gpu = commands.parse_sinfo(SINFO)
    assert (batch.name, batch.default, batch.available, batch.limit) == ("batch", True, "up", "1-00:00:00")
    assert batch.states == {"idle": ["n1", "n2", "n4"], "down*": ["n3"]} and len(batch.nodes) == 4
    assert (debug.default, debug.sizes, gpu.nodes) == (False, "1-2", ["gpu-01", "gpu-02"])
    assert commands.parse_sinfo("No partitions\n") == []


def test_the_site_in_lines(slurm):
    found = site(launch=False)
    assert [(check.level, check.name, check.text) for check in found] == [
        ("ok", "Slurm", "slurm 23.02.4"),
        ("ok", "controller", "Slurmctld(primary) at c1 is UP"),
        ("ok", "partition", "batch (default): up, 3 idle, 1 down*, time limit 1-00:00:00"),
        ("ok", "partition", "debug: up, 2 mixed, time limit 30:00, nodes per job 1-2"),
        ("info", "partition", f"gpu: drain, 2 idle, time limit {UNLIMITED}"),
        ("ok", "MPI", "MPICH 4.2.0, MPI 4.1, /opt/mpich/lib/libmpi.so"),
        ("ok", "PMI", "srun offers pmi2, pmix; MPICH 4.2.0 supports pmi2 or pmix"),
        ("info", "nodes", "nothing was started (--no-launch): which launcher works is unknown"),
    ]
    assert not slurm.calls("salloc")


def test_a_site_in_disorder(slurm, monkeypatch):
    (slurm.folder / "sinfo.txt").write_text("".join(f"p{n}|up|5:00|1-infinite|1|drained|n{n}\n" for n in range(14)))
    (slurm.folder / "kinds.txt").write_text("srun: MPI types are...\nsrun: none\n")
    found = site(launch=False)
    assert named(found, "partition")[0] == ("info", "p0: up, 1 drained, time limit 5:00")
    assert named(found, "partition")[12:] == [("ok", "2 more: p12, p13"), ("info", "no default partition")]
    ((level, text),) = named(found, "PMI")
    assert (level, text.split("; ")) == ("info", ["srun offers none", "MPICH 4.2.0 supports pmi2 or pmix"])


def test_no_slurm(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    (check,) = site()
    assert (
        (check.level, check.name)
        == (
            "severe",
            "Slurm",
        )
        and "sinfo not found" in check.text
        and "no Slurm" in check.text
    )


def test_without_an_mpi_nothing_is_asked_of_salloc(slurm, monkeypatch):
    monkeypatch.setattr(check_site, "library", lambda: Check("severe", "MPI", "no MPI found"))
    assert site()[-1].text == "no MPI found" and not slurm.calls("salloc")


def test_two_nodes_are_asked_of_salloc_in_its_words(slurm):
    given = Check("ok", "mpirun", "2 ranks", "", "")
    slurm.answer("salloc", granting(given))
    found = site("-p", "de bug", "-A$(touch x)")
    (call,) = slurm.calls("salloc")
    assert call[:8] == ["-N", "2", "--ntasks-per-node=1", "-t", "4", "-p", "de bug", "-A$(touch x)"]
    assert call[8:] == [sys.executable, "-m", "allreduce_bench.launching.check_mpi"]
    assert found[-1] == given and "waiting for nodes" in found[-2].text and "most 60 s: salloc -N 2" in found[-2].text
    assert not slurm.calls("scancel")


def test_a_cluster_of_one_node_is_asked_for_one(slurm):
    (slurm.folder / "sinfo.txt").write_text("batch*|up|5:00|1-infinite|1|idle|n1\n")
    slurm.answer("salloc", granting(Check("info", "nodes", "only one")))
    site()
    assert slurm.calls("salloc")[0][:3] == ["-N", "1", "--ntasks-per-node=2"]


def test_slurms_refusal_is_shown(slurm):
    slurm.answer(
        "salloc",
        "echo 'salloc: error: invalid partition specified: gold' >&2; "
        "echo 'salloc: error: Job submit/allocate failed: Invalid partition name specified' >&2; exit 1",
    )
    text = "salloc: invalid partition specified: gold; Job submit/allocate failed: Invalid partition name specified"
    assert named(site(), "nodes")[1] == ("severe", text)


def test_a_queue_is_waited_for_no_longer_than_said(slurm, monkeypatch):
    slurm.answer("salloc", "echo 'salloc: Pending job allocation 17' >&2; exec sleep 60")
    slurm.answer("squeue", "echo '17|PENDING||0:00|4:00|Resources'")
    running = check_site._running

    @contextmanager
    def asked(command):  # however late the machine starts it
        with running(command) as (lines, complaints):
            while not check_site._job_number(complaints):
                time.sleep(0.01)
            yield lines, complaints

    monkeypatch.setattr(check_site, "_running", asked)
    monkeypatch.setattr(check_site, "WAIT_S", 1.0)
    assert named(site(), "nodes")[1] == ("caution", "no nodes within 1 s (job 17: Resources)")
    assert slurm.calls("scancel") == [["17"]]


def test_nodes_that_fall_silent_are_given_back(slurm, monkeypatch):
    slurm.answer("salloc", granting(Check("ok", "nodes", "job 17: n[1-2]")) + "\nexec sleep 60")
    monkeypatch.setattr(check_site, "QUIET_S", 0.5)
    assert site()[-1].text.startswith("no response within")
    assert slurm.calls("scancel") == [["17"]]


def test_who_stops_listening_gives_the_nodes_back(slurm):
    slurm.answer("salloc", granting(Check("ok", "nodes", "job 17: n[1-2]")) + "\nexec sleep 60")
    checks = check_site.checks_of_slurm((), True, NODE)
    next(check for check in checks if check.text == "job 17: n[1-2]")
    checks.close()  # as an interrupt does
    assert slurm.calls("scancel") == [["17"]]


def test_in_a_job_salloc_is_not_asked(slurm, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    monkeypatch.setattr(check_site, "launcher_checks", lambda: iter([Check("ok", "nodes", "ours")]))
    assert site()[-1].text == "ours" and not slurm.calls("salloc")
