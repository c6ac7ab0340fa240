"""Steps of a training, as `workload --measure` has its ranks measure them."""

from mpi4py import MPI

from allreduce_bench.executing import Unsupported
from allreduce_bench.runs.dtypes import DtypeError
from allreduce_bench.schedule.algorithm import AlgorithmError
from allreduce_bench.training.measuring.request import Request
from allreduce_bench.training.measuring.training_step import measure_steps


def measure(comm: MPI.Comm, request: dict) -> dict:
    """Return what rank 0 keeps of the steps, or why they are refused."""
    try:
        return measure_steps(Request(**request), comm)
    except (Unsupported, AlgorithmError, DtypeError) as error:
        return {"refused": str(error)}
