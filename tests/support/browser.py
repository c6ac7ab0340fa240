"""Debian's Chromium without a screen, asked over two pipes in its DevTools protocol (tot version of
https://chromedevtools.github.io/devtools-protocol/): messages are JSON, each ended by a zero byte.

Nothing but the standard library is needed. Playwright (137 MB, with a Node.js of its own) and Selenium (with a driver
per browser) do far more than these tests ask for; a websocket would need a port and a package. The browser ends by
itself when whoever holds the pipes is gone, however that happens.
"""

import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",  # a page that asks for a host is told on, and gets nothing
    "--remote-debugging-pipe",
)
LONGEST_S = 30.0  # of one answer


class BrowserError(Exception):
    """The browser refused a command, gave no answer in time, or ended."""


def program() -> str | None:
    """The path of the first browser on PATH; None where there is none."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


class Browser:
    """A connection to a running browser: commands go out, answers and events come in, in one thread."""

    def __init__(self, write_fd: int, read_fd: int):
        self.write_fd, self.read_fd = write_fd, read_fd
        self.number = 0
        self.rest = b""
        self.events: list[dict[str, Any]] = []  # of all pages, in the order in which they came

    def command(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """What the browser answers to `method`. Raises BrowserError where it refuses or says nothing."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        _write(self.write_fd, json.dumps(message | ({"sessionId": session} if session else {})).encode() + b"\0")
        deadline = time.monotonic() + LONGEST_S
        while True:
            answer = self._next(deadline, method)
            if answer.get("id") != self.number:
                self.events.append(answer)
            elif "error" in answer:
                raise BrowserError(f"{method}: {answer['error']['message']}")
            else:
                return answer["result"]

    def event(self, method: str, session: str) -> dict[str, Any]:
        """The first event of that name in a page, waited for. Raises BrowserError where it does not come."""
        deadline = time.monotonic() + LONGEST_S
        seen = 0
        while True:
            for event in self.events[seen:]:
                if event["method"] == method and event.get("sessionId") == session:
                    return event["params"]
            seen = len(self.events)
            self.events.append(self._next(deadline, method))

    def _next(self, deadline: float, what: str) -> dict[str, Any]:
        while b"\0" not in self.rest:
            if not select.select([self.read_fd], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise BrowserError(f"{what}: nothing for {LONGEST_S:.0f} s")
            piece = os.read(self.read_fd, 1 << 20)
            if not piece:
                raise BrowserError(f"{what}: the browser has ended")
            self.rest += piece
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)


def _write(descriptor: int, message: bytes) -> None:
    while message:
        message = message[os.write(descriptor, message) :]


@contextmanager
def running_browser(path: str) -> Iterator[Browser]:
    """The browser at `path`, with a profile of its own that is gone afterwards."""
    to_read, write_fd = os.pipe()
    read_fd, to_write = os.pipe()
    with tempfile.TemporaryDirectory(prefix="browser.", ignore_cleanup_errors=True) as profile:
        redirected = f'exec "$0" "$@" 3<&{to_read} 4>&{to_write}'  # the two descriptors that it asks for
        process = subprocess.Popen(
            ["bash", "-c", redirected, path, *FLAGS, f"--user-data-dir={profile}"],
            pass_fds=(to_read, to_write),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        try:
            yield Browser(write_fd, read_fd)
        finally:
            os.close(write_fd)  # for it, the word to end
            os.close(read_fd)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
