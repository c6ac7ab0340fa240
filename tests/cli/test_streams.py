"""Standard streams that are closed, full, or slow: commands end as with others."""

import subprocess
import sys

import pytest
from measured_runs import with_package


def shell(words: str, timeout_s: float = 240) -> subprocess.CompletedProcess:
    """`words` in a shell, in which $python is this interpreter."""
    return subprocess.run(
        ["bash", "-c", words],
        env={**with_package(), "python": sys.executable},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


LIST, SHOW = ("list", 0), ("show /nonexistent/run", 2)  # what prints on stdout, on stderr: exit status
USED = [("0<&-", SHOW), (">&-", LIST), ("2>&-", SHOW), ("0<&- >&- 2>&-", LIST), ("0<&- >&- 2>&-", SHOW)]
USED += [("2>/dev/full", SHOW)]


@pytest.mark.parametrize(("streams", "command"), USED)
def test_a_command_ends_as_always(streams, command):
    words, status = command
    result = shell(f"exec $python -m allreduce_bench {words} {streams}")
    assert result.returncode == status and "Traceback" not in result.stderr


@pytest.mark.parametrize("command", ["list", "run --help"])
def test_a_full_disk_behind_stdout_is_one_line(command):
    result = shell(f"exec $python -m allreduce_bench {command} >/dev/full")
    assert (result.returncode, result.stderr) == (1, "error: stdout: no space left on device\n")


CLOSED = """
import os, subprocess, sys
import allreduce_bench.__main__
sys.stdin.read()
print("lost")
subprocess.run("exec cat <&0 >&1 2>&2", shell=True, check=True)
os.write(int(sys.argv[1]), b"as it was")
"""


def test_what_is_started_has_the_streams_too(tmp_path):
    (tmp_path / "closed.py").write_text(CLOSED)
    result = shell(f"exec 5>&1; exec $python {tmp_path}/closed.py 5 0<&- >&- 2>{tmp_path}/said")
    assert result.stdout == "as it was", (tmp_path / "said").read_text()


SLOW = """
import os, sys
import allreduce_bench.__main__
os.set_blocking(2, False)
for _ in range(1000):
    print("x" * 999, file=sys.stderr)
"""


def test_a_slow_reader_is_waited_for(tmp_path):
    (tmp_path / "slow.py").write_text(SLOW)
    result = shell(f"set -o pipefail; $python {tmp_path}/slow.py 2>&1 >/dev/null | (sleep 1; wc -c)")
    assert (result.returncode, result.stdout.strip()) == (0, "1000000")
