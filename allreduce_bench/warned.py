"""The warning before a time limit: SIGUSR1 asks a run to end after the cell in progress.

Standard library only, and little of it: every rank imports it.
"""

import signal
from collections.abc import Callable


class Warned:
    """Whether the warning came. A plain flag, so that a signal may raise it in the middle of anything."""

    def __init__(self) -> None:
        self.came = False
        self._pass_on: Callable[[], object] | None = None

    def listen(self) -> None:
        """From here on SIGUSR1, which would end this process, is the warning; in the main thread only."""
        signal.signal(signal.SIGUSR1, lambda number, frame: self.tell())

    def tell(self) -> None:
        """The warning came; whoever it is passed on to hears of it every time."""
        self.came = True
        if self._pass_on is not None:
            self._pass_on()

    def pass_on_to(self, hear: Callable[[], object] | None) -> None:
        """Call `hear` when the warning comes, at once if it came before; None: nobody. It may run in a signal."""
        self._pass_on = hear
        if self.came and hear is not None:
            hear()
