"""How a process ended, from its exit status: words, and the status that shells hand on."""

import signal


def how_it_ended(status: int) -> str:
    """`was killed by SIGKILL`, or `ended with status 3`."""
    signal_number = -status if status < 0 else status - 128
    try:
        return f"was killed by {signal.Signals(signal_number).name}"
    except ValueError:
        return f"ended with status {status}"


def shell_status(status: int) -> int:
    """The exit status of a process: of one that a signal ended, 128 and its number."""
    return status if status >= 0 else 128 - status
