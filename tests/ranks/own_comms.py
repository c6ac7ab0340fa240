"""Communicators of ours beside those of a program: made once, shared, freed with the last user or with the program's;
what is left where MPI has none.
"""

from called_allreduce import check
from mpi4py import MPI

from allreduce_bench.programs.own_comm import find_own_comm, leave


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


def around(comm: MPI.Comm) -> Counted:
    """One of the program's."""
    return Counted(comm.Dup())


def shared(comm: MPI.Comm) -> None:
    """All users have the same; the last one that leaves frees it, and a later one has a new one."""
    program, users = around(comm), [User(), User()]
    own = find_own_comm(program)
    for user in users:
        check(find_own_comm(program) is own and Counted.made == 1, "made once")
        own.join(user)
    check(own.site.comm != program and own.site.comm.rank == comm.rank, "of its own")
    check(len(own.site.topology.node_of) == comm.size, own.site.topology)
    leave(program)
    check(own.site is not None and Counted.in_use == 1, "there is one user left")
    leave(program)
    check(own.site is None and Counted.in_use == 0, "freed with the last one")
    check(all(user.was_let_go for user in users), "what its users held goes first")
    leave(program)
    find_own_comm(program).join(User())
    check(Counted.made == 2 and find_own_comm(program) is not own, "made anew")
    leave(program)
    MPI.Comm.Free(program)
    leave(program)
    leave(MPI.COMM_NULL)
    check(Counted.in_use == 0, "left twice")


def freed_with_the_program(comm: MPI.Comm) -> None:
    """Whoever uses it is told, but for those that are no longer there."""
    program, user = around(comm), User()
    own = find_own_comm(program)
    own.join(user)
    own.join(User())
    MPI.Comm.Free(program)
    check(user.was_let_go and own.site is None and Counted.in_use == 0, "freed with it")


def none_left(comm: MPI.Comm) -> None:
    """Nothing is left behind, and nothing is tried again."""
    for what in ("can_dup", "can_split"):
        setattr(Counted, what, False)
        program, made = around(comm), Counted.made
        own = find_own_comm(program)
        check(own.site is None and Counted.in_use == 0, "kept what cannot be used:", what)
        setattr(Counted, what, True)
        own.join(User())
        check(find_own_comm(program) is own and Counted.made == made + 1, "tried again")
        leave(program)
        check(find_own_comm(program) is own, "tried again after the last user")
        MPI.Comm.Free(program)


def lives(comm: MPI.Comm) -> None:
    """All of it."""
    Counted.made = Counted.in_use = 0
    shared(comm)
    freed_with_the_program(comm)
    none_left(comm)
