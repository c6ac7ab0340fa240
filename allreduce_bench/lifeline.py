"""What ties ranks to the process that started them. Standard library only, and little of it: every rank imports it."""

import ctypes
import sys

COMMAND_VARIABLE = "ALLREDUCE_BENCH_COMMAND"  # tells rank 0 how it was started
MONITOR_VARIABLE = "ALLREDUCE_BENCH_MONITOR"  # tells every rank where the monitor listens
SWITCHES_VARIABLE = "ALLREDUCE_BENCH_SWITCHES"  # tells rank 0 of the switches above the nodes, see switches
STAGE_VARIABLE = "ALLREDUCE_BENCH_STAGE"  # tells rank 0 what was unpacked on the nodes, as JSON
TERMINATE, KILL = 15, 9  # by POSIX, without the module signal
SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)


def end_with_parent(number: int = TERMINATE) -> None:
    """Have the kernel send this process `number` when its parent dies (Linux; elsewhere nothing happens).

    Otherwise an mpirun whose starter was killed, or ranks whose mpirun was, would measure on for nobody.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_PARENT_DEATH_SIGNAL, number)
