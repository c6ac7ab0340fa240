"""The messages of the monitor do not meet the program's."""

import pytest
from interpreters import interpreters
from rank_programs import mpirun

pytestmark = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")

PROGRAM = """
import numpy as np
from mpi4py import MPI
from allreduce_bench.stragglers.monitor.mpi_transport import MpiTransport
from allreduce_bench.stragglers.monitor.transport import StepMonitorError

comm = MPI.COMM_WORLD
transport = MpiTransport(comm)
assert transport.exchange(comm.rank) == [*range(comm.size)]
gathering = transport.gather(np.array([comm.rank, 0.5]))
values, partner = np.zeros(2), 1 - comm.rank
if comm.rank == 0:
    comm.Send(np.array([1.0, 1.0]), 1)
    transport.send(np.array([2.0, 2.0]), 1)
else:
    transport.receive(values, 0)
    assert values.tolist() == [2.0, 2.0], values
    comm.Recv(values, 0)
    assert values.tolist() == [1.0, 1.0], values
while not gathering.is_done():
    pass
assert gathering.rows().tolist() == [[0, 0.5], [1, 0.5]]
assert transport.is_usable()
transport.free()
between = comm.Split(comm.rank).Create_intercomm(0, comm, 1 - comm.rank)
try:
    MpiTransport(between)
    raise AssertionError("it was taken")
except StepMonitorError as error:
    assert "one group of ranks" in str(error)
MPI.Finalize()
assert not transport.is_usable()
try:
    MpiTransport(comm)
    raise AssertionError("it was taken")
except StepMonitorError as error:
    assert "between MPI.Init() and MPI.Finalize()" in str(error)
"""


@pytest.mark.parametrize("python", dict.fromkeys(interpreters()), ids=lambda path: path.parent.parent.name)
def test_its_messages_are_its_own_and_bad_communicators_are_refused(python, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    status, words = mpirun(python, 2, str(program))
    assert status == 0, words
