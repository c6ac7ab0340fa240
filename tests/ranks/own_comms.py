"""Communicators of ours beside those of a program, and what messages cost on them. Run it with

    mpirun -n 3 python own_comms.py lives | links

lives: made once, shared, freed with the last user or with the program's; what is left where MPI has none. links: of
these ranks. Prints `NAME: N checks, 0 failed`; a failed one ends all ranks with status 1.
"""

import os
import sys
import traceback

from called_allreduce import COMM, check
from mpi4py import MPI

from allreduce_bench.programs.own_comm import leave, measured_links, own_comm


class Counted(MPI.Intracomm):
    """A communicator that counts what is made of it and not freed."""

    made = in_use = 0
    can_dup = can_split = True

    def Dup(self, info: MPI.Info | None = None) -> "Counted":
        """As that of MPI."""
        Counted.made += 1
        if not Counted.can_dup:
            raise MPI.Exception(MPI.ERR_OTHER)
        Counted.in_use += 1
        return Counted(super().Dup())

    def Split_type(self, split_type: int, key: int = 0, info: MPI.Info = MPI.INFO_NULL) -> MPI.Intracomm:
        """As that of MPI."""
        if not Counted.can_split:
            raise MPI.Exception(MPI.ERR_OTHER)
        return super().Split_type(split_type, key, info)

    def Free(self) -> None:
        """As that of MPI."""
        Counted.in_use -= 1
        super().Free()


class User:
    """Of a communicator of ours: a PreparedAllreduces."""

    was_let_go = False

    def let_go(self) -> None:
        """Free what it holds."""
        self.was_let_go = True


def around() -> Counted:
    """One of the program's."""
    return Counted(COMM.Dup())


def shared() -> None:
    """All users have the same; the last one that leaves frees it, and a later one has a new one."""
    program, users = around(), [User(), User()]
    own = own_comm(program)
    for user in users:
        check(own_comm(program) is own and Counted.made == 1, "made once")
        own.join(user)
    check(own.site.comm != program and own.site.comm.rank == COMM.rank, "of its own")
    check(len(own.site.topology.node_of) == COMM.size, own.site.topology)
    leave(program)
    check(own.site is not None and Counted.in_use == 1, "there is one user left")
    leave(program)
    check(own.site is None and Counted.in_use == 0, "freed with the last one")
    check(all(user.was_let_go for user in users), "what its users held goes first")
    leave(program)
    own_comm(program).join(User())
    check(Counted.made == 2 and own_comm(program) is not own, "made anew")
    leave(program)
    MPI.Comm.Free(program)
    leave(program)
    leave(MPI.COMM_NULL)
    check(Counted.in_use == 0, "left twice")


def freed_with_the_program() -> None:
    """Whoever uses it is told, but for those that are no longer there."""
    program, user = around(), User()
    own = own_comm(program)
    own.join(user)
    own.join(User())
    MPI.Comm.Free(program)
    check(user.was_let_go and own.site is None and Counted.in_use == 0, "freed with it")


def none_left() -> None:
    """Nothing is left behind, and nothing is tried again."""
    for what in ("can_dup", "can_split"):
        setattr(Counted, what, False)
        program, made = around(), Counted.made
        own = own_comm(program)
        check(own.site is None and Counted.in_use == 0, "kept what cannot be used:", what)
        setattr(Counted, what, True)
        own.join(User())
        check(own_comm(program) is own and Counted.made == made + 1, "tried again")
        leave(program)
        check(own_comm(program) is own, "tried again after the last user")
        MPI.Comm.Free(program)


def lives() -> None:
    """All of it."""
    shared()
    freed_with_the_program()
    none_left()


def links() -> None:
    """Not negative, and the same everywhere."""
    found = measured_links(COMM)
    check(found.alpha_s > 0 <= min(found), found)
    check(COMM.allgather(found) == [found] * COMM.size, "other ones on other ranks")


def main() -> None:
    """The part that is named."""
    {"lives": lives, "links": links}[sys.argv[1]]()
    COMM.Barrier()
    if COMM.rank == 0:
        from called_allreduce import checked

        print(f"{sys.argv[1]}: {checked} checks, 0 failed", flush=True)


if __name__ == "__main__":
    try:
        main()
    except BaseException:
        traceback.print_exc()
        COMM.Abort(1)
        os._exit(1)
