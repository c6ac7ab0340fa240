"""The wait for an idle machine before launches; idleness is checked on the node of this process only."""

import time
from collections.abc import Callable

from ..machine.at_work import Glance, glance
from ..units import format_time

LOOK_S, SHORT_LOOK_S = 1.0, 0.5  # seconds; shorter before later launches, as the run itself keeps the node quiet
SAY_AGAIN_S = 10.0


class IdleWait:
    """Time budget for waiting, shared by all launches of a start."""

    def __init__(
        self,
        longest_s: float,
        say: Callable[[str], None] = print,
        look: Callable[[float], Glance | None] = glance,
    ):
        """Wait at most `longest_s` in total; 0: never."""
        self.left_s, self.waited_s = longest_s, 0.0
        self._say, self._look, self._look_s = say, look, LOOK_S

    def wait(self, is_over: Callable[[], bool]) -> None:
        """Return when other processes are idle for about a second, the time is used up, or `is_over` is true.

        Meanwhile print which processes are busy.
        """
        if self.left_s <= 0:
            return
        begun, said_at, look_s = time.monotonic(), None, self._look_s
        while not is_over():
            seen, now = self._look(look_s), time.monotonic()
            if seen is None:
                self._say("warning: --wait-idle: core usage is not available on this system, so the run starts at once")
                self.left_s = 0.0
                break
            if seen.is_quiet:
                if said_at is not None:
                    self._say(f"idle after {format_time(now - begun)}: {seen.words}")
                break
            if now - begun >= self.left_s:
                self._say(f"warning: --wait-idle time is used up: {seen.words}; measuring anyway")
                break
            if said_at is None or now - said_at >= SAY_AGAIN_S:
                self._say(f"waiting for an idle machine: {seen.words}")
                said_at = now
            look_s = LOOK_S
        self._look_s, waited_s = SHORT_LOOK_S, time.monotonic() - begun
        self.left_s, self.waited_s = max(0.0, self.left_s - waited_s), self.waited_s + waited_s
