"""The doctor of a Slurm site, without one: programs in place of Slurm's say literally what 22.05 says."""

import json
import sys

import pytest
from slurm_programs import SlurmPrograms

from allreduce_bench.launching import check_launchers
from allreduce_bench.launching import scheduler as started
from allreduce_bench.launching.find import Launcher, LaunchError
from allreduce_bench.launching.launchers import srun
from allreduce_bench.machine.checks import Check
from allreduce_bench.slurm import check_site, parsing

NODE = {"interfaces": [], "fabric_devices": []}
LIBRARY = {"library": "MPICH 4.2.0", "standard": "4.1", "path": "/opt/mpich/lib/libmpi.so", "from_pypi": False}
SINFO = """\
batch*|up|1-00:00:00|1-infinite|3|idle|n[1-2,4]
batch*|up|1-00:00:00|1-infinite|1|down*|n3
debug|up|30:00|1-2|2|mixed|n[1-2]
gpu|drain|infinite|1-infinite|2|idle|gpu-[01-02]
"""
TOPOLOGY = """\
SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[1-2]
SwitchName=s2 Level=0 LinkSpeed=1 Nodes=n[3-4]
SwitchName=s0 Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=s[1-2]
"""
KINDS = "MPI plugin types are...\n\tpmix\n\tnone\n\tpmi2\nspecific pmix plugin versions available: pmix_v4\n"


@pytest.fixture
def slurm(tmp_path, monkeypatch) -> SlurmPrograms:
    """A site of four nodes, seen from a login node."""
    programs = SlurmPrograms(tmp_path / "bin", monkeypatch)
    for name, text in (("sinfo.txt", SINFO), ("topology.txt", TOPOLOGY), ("kinds.txt", KINDS)):
        (programs.folder / name).write_text(text)
    programs.answer("sinfo", '[ "$1" = --version ] && echo slurm 23.02.4 || cat sinfo.txt')
    programs.answer("scontrol", '[ $1 = ping ] && echo "Slurmctld(primary) at c1 is UP" || cat topology.txt')
    programs.answer("srun", "cat kinds.txt")
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    monkeypatch.setattr(check_site, "library", lambda: LIBRARY)
    return programs


def site(*words: str, launch: bool = True) -> list[Check]:
    return list(check_site.of_slurm(words, launch, NODE))


def named(found: list[Check], name: str) -> list[tuple[str, str]]:
    return [(check.level, check.text) for check in found if check.name == name]


def granting(*checks: Check, before: str = "") -> str:
    """What salloc does that gives two nodes: it runs the program, which prints `checks`."""
    printed = "\n".join(f"{check_launchers.MARK}{json.dumps(check)}" for check in checks)
    return f"echo 'salloc: Granted job allocation 17' >&2\n{before}\ncat <<'EOF'\nnoise\n{printed}\nEOF"


def test_sinfo_is_read():
    batch, debug, gpu = parsing.of_sinfo(SINFO)
    assert (batch.name, batch.default, batch.available, batch.limit) == ("batch", True, "up", "1-00:00:00")
    assert batch.states == {"idle": ["n1", "n2", "n4"], "down*": ["n3"]} and len(batch.nodes) == 4
    assert (debug.default, debug.sizes, gpu.nodes) == (False, "1-2", ["gpu-01", "gpu-02"])
    assert parsing.of_sinfo("No partitions\n") == []


def test_the_site_in_lines(slurm):
    found = site(launch=False)
    assert [(check.level, check.name, check.text) for check in found] == [
        ("ok", "Slurm", "slurm 23.02.4"),
        ("ok", "controller", "Slurmctld(primary) at c1 is UP"),
        ("ok", "partition", "batch (default): up, 3 idle, 1 down*, time limit 1-00:00:00"),
        ("ok", "partition", "debug: up, 2 mixed, time limit 30:00, nodes a job 1-2"),
        ("info", "partition", "gpu: drain, 2 idle, time limit infinite"),
        ("ok", "topology", "4 nodes, 2 below each of 2 switches, 2 levels"),
        ("ok", "MPI", "MPICH 4.2.0, MPI 4.1, /opt/mpich/lib/libmpi.so"),
        ("ok", "PMI", "srun knows pmi2, pmix; MPICH 4.2.0 understands pmi2 or pmix"),
        ("info", "nodes", "nothing was started (--no-launch), so which launcher works is unknown"),
    ]
    assert not slurm.calls("salloc")


def test_a_site_in_disorder(slurm, monkeypatch):
    (slurm.folder / "sinfo.txt").write_text("".join(f"p{n}|up|5:00|1-infinite|1|drained|n{n}\n" for n in range(14)))
    (slurm.folder / "topology.txt").write_text("")
    (slurm.folder / "kinds.txt").write_text("srun: MPI types are...\nsrun: none\n")
    found = site(launch=False)
    assert named(found, "partition")[0] == ("info", "p0: up, 1 drained, time limit 5:00")
    assert named(found, "partition")[12:] == [("ok", "2 more: p12, p13"), ("info", "none is the default")]
    assert named(found, "topology") == [
        ("info", "Slurm knows none here, so which nodes share a switch is unknown"),
    ]
    assert named(found, "PMI") == [("info", "srun knows none; MPICH 4.2.0 understands pmi2 or pmix")]


def test_no_slurm(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    (check,) = site()
    assert (check.level, check.name) == ("severe", "Slurm") and "no sinfo in PATH: no Slurm on this" in check.text


def test_a_controller_that_does_not_answer_is_not_waited_for(slurm, monkeypatch):
    slurm.answer("scontrol", "exec sleep 60")
    monkeypatch.setattr(check_site, "ANSWER_S", 0.3)
    _, check = site()
    assert check.level == "severe" and "scontrol: no answer within" in check.text


def test_without_an_mpi_nothing_is_asked_of_salloc(slurm, monkeypatch):
    monkeypatch.setattr(check_site, "library", lambda: Check("severe", "MPI", "no MPI found"))
    assert site()[-1].text == "no MPI found" and not slurm.calls("salloc")


def test_two_nodes_are_asked_of_salloc_in_its_words(slurm):
    given = Check("ok", "mpirun", "2 ranks", "", "")
    slurm.answer("salloc", granting(given))
    found = site("-p", "de bug", "-A$(touch x)")
    (call,) = slurm.calls("salloc")
    assert call[:8] == ["-N", "2", "--ntasks-per-node=1", "-t", "4", "-p", "de bug", "-A$(touch x)"]
    assert call[8:] == [sys.executable, "-m", "allreduce_bench.launching.check_launchers"]
    assert found[-1] == given and found[-2].text.startswith("waiting for them, at most 60 s: salloc -N 2")
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
    monkeypatch.setattr(check_site, "WAIT_S", 1.0)
    assert named(site(), "nodes")[1] == ("caution", "none came within 1 s (job 17: Resources)")
    assert slurm.calls("scancel") == [["17"]]


def test_nodes_that_fall_silent_are_given_back(slurm, monkeypatch):
    slurm.answer("salloc", granting(Check("ok", "nodes", "job 17: n[1-2]")) + "\nexec sleep 60")
    monkeypatch.setattr(check_site, "QUIET_S", 0.5)
    assert site()[-1].text.startswith("nothing came back for")
    assert slurm.calls("scancel") == [["17"]]


def test_who_stops_listening_gives_the_nodes_back(slurm):
    slurm.answer("salloc", granting(Check("ok", "nodes", "job 17: n[1-2]")) + "\nexec sleep 60")
    checks = check_site.of_slurm((), True, NODE)
    next(check for check in checks if check.text == "job 17: n[1-2]")
    checks.close()  # as an interrupt does
    assert slurm.calls("scancel") == [["17"]]


HELLO = (
    "import json; [print('allreduce-bench hello: ' + json.dumps({'seen': SEEN, 'hosts': HOSTS, 'transport': 'tcp'}))"
    " for _ in range(2 // SEEN)]"
)
GOOD = HELLO.replace("SEEN", "2").replace("HOSTS", "['n1', 'n2']")
ALONE = HELLO.replace("SEEN", "1").replace("HOSTS", "['n1']")
TOGETHER = HELLO.replace("SEEN", "2").replace("HOSTS", "['n1', 'n1']")
FAILS = "import sys; sys.stderr.write('srun: error: can not load PMIx library\\n'); sys.exit(1)"


@pytest.fixture
def launchers(slurm, monkeypatch):
    """What is checked in a job of two nodes where these programs run in place of mpirun, srun with PMI2 and PMIx."""
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "2")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-2]")

    def checked(mpirun: str, pmi2: str = GOOD, pmix: str = FAILS, auto: str = "mpich") -> list[Check]:
        def found(start=None):
            kind, words = (start.launcher, start.launcher_args) if start else (auto, "--mpi=pmi2")
            return Launcher(kind, "MPICH 4.2.0", kind, (words,) if kind == "srun" else ())

        def command(launcher, ranks, start, program):
            assert (ranks, start.ranks_per_node) == (2, 1)
            programs = {"mpich": mpirun, "--mpi=pmi2": pmi2, "--mpi=pmix": pmix}
            return [sys.executable, "-c", programs[start.launcher_args or start.launcher]]

        monkeypatch.setattr(check_launchers, "find_launcher", found)
        monkeypatch.setattr(check_launchers, "mpirun_command", command)
        return list(check_launchers.of_launchers())

    return checked


def levels(found: list[Check]) -> list[tuple[str, str]]:
    return [(check.name, check.level) for check in found]


def test_each_launcher_is_tried_and_one_that_works_is_chosen(launchers):
    found = launchers(GOOD)
    assert levels(found) == [
        ("nodes", "ok"),
        ("mpirun", "ok"),
        ("srun pmi2", "ok"),
        ("srun pmix", "caution"),
        ("launcher", "ok"),
    ]
    assert found[0].text == "job 17: n[1-2]"
    assert found[1].text.startswith("2 ranks on n1, n2 see each other, over tcp; ")
    assert found[1].text.endswith("s from start to end")
    assert found[3].text == "started, and ended with status 1: srun: error: can not load PMIx library"
    assert found[3].effect == "a run with --launcher srun --launcher-args --mpi=pmix would fail"
    assert found[4].text.startswith("auto takes mpirun, which works")


def test_a_choice_of_auto_that_does_not_work_is_severe(launchers):
    found = launchers(ALONE)
    assert dict(levels(found)) | {"nodes": "ok"} == {
        "nodes": "ok",
        "mpirun": "severe",
        "srun pmi2": "ok",
        "srun pmix": "caution",
        "launcher": "severe",
    }
    assert found[1].text == "2 ranks were started, but MPI sees 1"
    assert found[4].text == "auto takes mpirun, which does not work here; srun pmi2 does"
    assert found[4].advice == "say --launcher srun --launcher-args --mpi=pmi2"


def test_where_auto_takes_srun_it_is_known_by_its_kind(launchers):
    found = launchers(ALONE, auto="srun")
    assert dict(levels(found))["mpirun"] == "caution"
    assert found[4][:3] == ("ok", "launcher", "auto takes srun pmi2, which works")


def test_two_ranks_on_one_node_are_no_success(launchers):
    check = launchers(TOGETHER)[1]
    assert (check.level, check.text) == ("severe", "2 ranks were to be on two nodes, but both are on n1")


def test_a_launcher_that_hangs_is_ended(launchers, monkeypatch):
    monkeypatch.setattr(check_launchers, "PATIENCE_S", 1.0)
    check = launchers("import time; time.sleep(60)")[1]
    assert check.text == "started, and nothing came back for 1 s"


def test_where_none_works_nothing_is_advised_but_to_look(launchers):
    assert launchers(ALONE, FAILS)[4][:3] == ("severe", "launcher", "none works here")


def test_no_launcher_at_all(launchers, monkeypatch):
    def none(start=None):
        raise LaunchError("there is no mpirun or mpiexec", "install one")

    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "1")
    monkeypatch.setattr(check_launchers, "find_launcher", none)
    found = list(check_launchers.of_launchers())
    assert levels(found) == [("nodes", "info"), ("launcher", "severe")] and found[1].advice == "install one"


def test_in_a_job_salloc_is_not_asked(slurm, launchers, monkeypatch):
    monkeypatch.setattr(check_site, "of_launchers", lambda: iter([Check("ok", "nodes", "ours")]))
    assert site()[-1].text == "ours" and not slurm.calls("salloc")


def test_an_srun_that_does_not_answer_knows_nothing(slurm, monkeypatch):
    slurm.answer("srun", "exec sleep 60")
    monkeypatch.setattr(srun, "PATIENCE_S", 0.3)
    assert srun.kinds_of("srun") == set()


@pytest.mark.parametrize(
    ("answer", "scheduler"),
    [
        ("echo 'Slurmctld(primary) at c1 is UP'", "sbatch"),
        ("echo 'Slurmctld(primary) at c1 is DOWN'; echo 'Slurmctld(backup) at c2 is UP'; exit 1", "sbatch"),
        ("echo 'Slurmctld(primary) at c1 is DOWN'; exit 1", None),
        ("echo 'scontrol: fatal: Could not establish a configuration source' >&2; exit 1", None),
        ("exec sleep 60", None),
    ],
)
def test_slurm_programs_alone_make_no_login_node(slurm, monkeypatch, answer, scheduler):
    monkeypatch.setattr(started, "CONTROLLER_S", 1.0)
    slurm.answer("scontrol", answer)
    path = f"{slurm.folder}:/usr/bin:/bin"
    assert started.idle_scheduler({"PATH": path}) == scheduler
    assert started.idle_scheduler({"PATH": path, "SLURM_JOB_ID": "17"}) is None
