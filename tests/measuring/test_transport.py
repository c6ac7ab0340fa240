"""The transport as the MPI says it: its answer is understood and taken out, everything else is passed on."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from interpreters import interpreters

from allreduce_bench.measuring.transport import MOST_RANKS, split_answer

ONE_NODE = """Host 0 [n1] ranks 0 - 1

 host | 0
======|====
    0 : sm

Connection summary: (pml)
  on-host:  all connections are sm
  off-host: all connections are n/a

"""

TWO_NODES = """Host 0 [n1] ranks 0 - 3
Host 1 [n2] ranks 4 - 7

 host | 0   1
======|========
    0 : sm  tcp
    1 : tcp sm

Connection summary: (pml)
  on-host:  all connections are sm or self
  off-host: all connections are tcp

"""

EXCEPTIONS = """Host 0 [n1] ranks 0
Host 1 [n2] ranks 1
Host 2 [n3] ranks 2

Connection summary: (btl)
  on-host:  all connections are self
  off-host: most connections are ofi
Exceptions:
  host 0: [1x self] [1x tcp] [1x ofi]
  host 1: [1x self] [1x tcp] [1x ofi]

"""

OVER_UCX = """Host 0 [n1] ranks 0 - 1
Host 1 [n2] ranks 2 - 3

 host | 0        1
======|==================
    0 : ucx[  2] ucx[  1]
    1 : ucx[  1] ucx[  2]

UCX Transport/Device
ucx[  1]:
    rc_mlx5          mlx5_0:1
ucx[  2]:
    sysv             memory
    cma              memory
Connection summary: (pml)
  on-host:  all connections are ucx=sysv;memory,cma;memory,sysv;memory
  off-host: all connections are ucx=rc_mlx5;mlx5_0:1,rc_mlx5;mlx5_1:1

"""

MPICH = """==== UCX netmod Capability ====
MPIDI_UCX_CONTEXT_ID_BITS: 16
tag_bits: 30
===============================
==== Various sizes and limits ====
sizeof(MPIDI_per_vci_t): 128
num_vcis: 1
MPICH 5.0.2 -  - Fri Sep 25 20:45:26 UTC 2026
thread level      : MPI_THREAD_MULTIPLE
==== data structure summary ====
sizeof(MPIR_Comm): 1832
================================
"""

MPICH_OFI = MPICH.replace("UCX netmod Capability", "Capability set configuration").replace(
    "MPIDI_UCX_CONTEXT_ID_BITS: 16", "libfabric provider: tcp;ofi_rxm - 10.0.0.0/24\nMPIDI_OFI_ENABLE_DATA: 1"
)

INTEL = """[0] MPI startup(): Intel(R) MPI Library, Version 2021.18.1  Build 20260626 (id: b44796a)
[0] MPI startup(): library kind: release
[0] MPI startup(): Load tuning file: "/a/etc/tuning_generic_shm.dat"
"""
INTEL_OFI = INTEL.replace(
    "[0] MPI startup(): Load", "[0] MPI startup(): libfabric provider: tcp\n[0] MPI startup(): Load"
)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (ONE_NODE, "sm"),
        (TWO_NODES, "sm on a node, tcp between nodes"),
        (EXCEPTIONS, "mostly ofi between nodes"),
        (OVER_UCX, "ucx sysv+cma on a node, ucx rc_mlx5 between nodes"),
        (ONE_NODE.replace("are sm", "are n/a"), None),
        (TWO_NODES.replace("are sm or self", "are ofi").replace("are tcp", "are ofi"), "ofi"),
        (MPICH, "UCX netmod"),
        (MPICH_OFI, "libfabric tcp;ofi_rxm"),
        (INTEL, "shm"),
        (INTEL_OFI, "libfabric tcp"),
    ],
)
def test_answers_are_understood_and_taken_out(answer, words):
    assert split_answer(f"before\n{answer}after ====\n") == (words, "before\nafter ====\n")


@pytest.mark.parametrize(
    "text", ["", "Host 0 is down\n", "==== UCX netmod Capability ====\ncut off", ONE_NODE[:80], "a\n====\n"]
)
def test_what_is_no_answer_stays_as_it_is(text):
    assert split_answer(text) == (None, text)


BODY = """
import os, sys
from allreduce_bench.measuring.transport import QUESTIONS, asked_transport
print("before")
try:
    with asked_transport() as asked:
        set_here = [name for name in QUESTIONS if name in os.environ]
        print("python")
        os.write(1, b"library \\xff\\n")
        os.write(2, b"complaint\\n")
        os.write(1, os.environ["ANSWER"].encode())
        if "FAILS" in os.environ:
            raise RuntimeError("no fabric")
except RuntimeError as error:
    print("failed:", error)
left = [name for name in set_here if name in os.environ]
print("after", asked.words, len(set_here), len(left))
"""


def program(size: int | None, rank: int = 0, answer: str = ONE_NODE, **variables: str) -> subprocess.CompletedProcess:
    """BODY as rank `rank` of `size`, without an MPI: it writes `answer` itself."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OMPI_", "PMI", "SLURM_"))}
    ranks = {} if size is None else {"OMPI_COMM_WORLD_SIZE": str(size), "OMPI_COMM_WORLD_RANK": str(rank)}
    environ = {**kept, **ranks, "ANSWER": answer, **variables}
    return subprocess.run([sys.executable, "-c", BODY], env=environ, capture_output=True, check=True)


def test_rank_0_takes_the_answer_out_and_loses_nothing_else():
    result = program(2)
    assert result.stdout == b"before\npython\nlibrary \xff\nafter sm 3 0\n"
    assert result.stderr == b"complaint\n"


def test_when_starting_fails_what_was_said_is_passed_on():
    result = program(2, answer="a warning\n", FAILS="1")
    assert result.stdout == b"before\npython\nlibrary \xff\na warning\nfailed: no fabric\nafter None 3 0\n"


def test_other_ranks_ask_with_it_and_hold_nothing_back():
    result = program(2, rank=1)
    assert ONE_NODE in result.stdout.decode(errors="replace") and b"after None 3 0" in result.stdout


@pytest.mark.parametrize("size", [None, 1, MOST_RANKS + 1])
def test_one_rank_or_too_many_do_not_ask(size):
    assert b"after None 0 0" in program(size).stdout


def test_a_user_who_asked_gets_the_answer_and_keeps_the_variable():
    result = program(2, OMPI_MCA_ompi_display_comm="mpi_init,mpi_finalize")
    assert ONE_NODE in result.stdout.decode(errors="replace") and b"after sm 3 1" in result.stdout


HELLO = """
import sys
from allreduce_bench.measuring.transport import asked_transport
with asked_transport() as asked:
    from mpi4py import MPI
sys.stdout.write(f"rank {MPI.COMM_WORLD.rank}: {asked.words}\\n")
sys.stdout.flush()
"""


@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
def test_real_libraries_answer(python: Path):
    ask = (
        "import sys, json; from allreduce_bench.launching.find import *; from allreduce_bench.runs.start import Start; "
        "found = find_launcher(); "
        "print(json.dumps([found.library, mpirun_command(found, 2, Start(), [sys.executable, '-c', sys.argv[1]])]))"
    )
    asked = subprocess.run([str(python), "-c", ask, HELLO], capture_output=True, text=True, check=True)
    library, command = json.loads(asked.stdout)
    result = subprocess.run(command, capture_output=True, text=True, timeout=240, check=True)
    lines = sorted(result.stdout.splitlines())
    assert len(lines) == 2 and lines[1] == "rank 1: None", result.stdout
    answers = {"Open MPI 5": r"rank 0: (sm|vader|ucx.*)", "MPICH": r"rank 0: (\w+ netmod|libfabric .+)"}
    pattern = next((words for name, words in answers.items() if library.startswith(name)), "rank 0: .*")
    assert re.fullmatch(pattern, lines[0])
