"""What MPI_T of the loaded library, Open MPI or MPICH, lets be done.

Rank 0 prints one JSON object: what is read, the lengths of the additions of all ranks before, while and after the ring
is forced, the codes of errors of all ranks, and the messages that each rank sends, if they are counted.
"""

import json
from collections.abc import Mapping

import numpy as np
from mpi4py import MPI

from allreduce_bench.executing.mpi_t import NoControl, Value, forced, read_back
from allreduce_bench.identifying.counting import NotCounted, counted
from allreduce_bench.machine.mpi import library_name

VARIABLES = {  # library -> the variable of the algorithm, and what is set with it
    "Open MPI": ("coll_tuned_allreduce_algorithm", {"coll_tuned_use_dynamic_rules": 1}),
    "MPICH": ("MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM", {"MPIR_CVAR_DEVICE_COLLECTIVES": "none"}),
}
TEXTS = {"Open MPI": "coll_tuned_dynamic_rules_filename", "MPICH": "MPIR_CVAR_ALLREDUCE_TREE_TYPE"}
VALUE = "ring"
ELEMENTS = 1024
vector, total = np.ones(ELEMENTS, np.float32), np.empty(ELEMENTS, np.float32)


def lengths(comm: MPI.Comm) -> list[int]:
    """The numbers of elements that the additions of one all-reduce have in this rank."""
    found: list[int] = []

    def add(arrived: memoryview, kept: memoryview, datatype: MPI.Datatype) -> None:
        found.append(len(arrived) // vector.itemsize)
        np.frombuffer(kept, np.float32)[:] += np.frombuffer(arrived, np.float32)

    operation = MPI.Op.Create(add, commute=True)
    comm.Allreduce(vector, total, operation)
    operation.Free()
    return found


def error_of(comm: MPI.Comm, settings: Mapping[str, Value]) -> str:
    """What `forced` refuses; empty: nothing."""
    try:
        with forced(comm, settings):
            return ""
    except NoControl as error:
        return str(error)


def sent(comm: MPI.Comm) -> list | str:
    """The pml, messages and bytes of one all-reduce; `not counted`: the library does not tell."""
    try:
        return list(counted(comm, lambda: comm.Allreduce(vector, total)))
    except NotCounted:
        return "not counted"


def main() -> None:
    """Try all of it."""
    comm, library = MPI.COMM_WORLD, library_name(MPI.Get_library_version()).rpartition(" ")[0]
    name, more = VARIABLES[library]
    level = MPI.Query_thread()
    said: dict[str, object] = {"library": library, "read": read_back([name, "no_such_variable"])}
    said["before"] = comm.gather(lengths(comm))
    with forced(comm, {**more, name: VALUE}) as made:
        said |= {"inside": comm.gather(lengths(made)), "read_inside": read_back([name])[name]}
        said["sent"] = comm.gather(sent(made))
    said |= {"after": comm.gather(lengths(comm)), "read_after": read_back([name])[name]}
    said["counted"] = comm.gather(sent(comm))
    wrong: dict[str, Mapping[str, Value]] = {
        "absent": {name + "z": 1},
        "no number": {name: "rings"},
        "no meaning": {name: 99},
        "text": {TEXTS[library]: "kary"},
        "differs": {name: 99 if comm.rank == 2 else VALUE},
    }
    said["errors"] = {kind: comm.gather(error_of(comm, settings)) for kind, settings in wrong.items()}
    said["read_at_end"] = read_back([name])[name]
    said["thread_levels"] = [level, MPI.Query_thread()]
    if comm.rank == 0:
        print(json.dumps(said))


if __name__ == "__main__":
    main()
