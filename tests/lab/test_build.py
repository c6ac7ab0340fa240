"""The buckets of links: small enough that short messages cost time, large enough for the rate."""

import re
import subprocess

import pytest

from allreduce_bench.lab.lab import AGENT_SCRIPT, PAYLOAD_SHARE, SCRIPT, bucket

UNRESOLVED = re.search(r'echo "(.*)\$1"', AGENT_SCRIPT)[1]


def test_a_bucket_holds_a_frame_and_what_comes_in_while_the_timer_is_late():
    assert bucket(12.5e6) == f"100000000:{9014 + 6250}"
    assert bucket(125e6, mtu=1500) == f"1000000000:{1514 + 62500}"
    assert bucket(None) == "none"


def test_messages_can_use_nearly_the_whole_rate():
    assert pytest.approx(0.9927, abs=1e-4) == PAYLOAD_SHARE


@pytest.mark.parametrize("script", [AGENT_SCRIPT, SCRIPT])
def test_bash_understands_the_scripts(script):
    subprocess.run(["bash", "-n", "-c", script], check=True)


@pytest.mark.parametrize("words", [["h3", "true"], ["-x", "-o", "BatchMode=yes", "h3", "true"], ["h1.*", "true"]])
def test_the_agent_names_a_host_that_is_not_there(words):
    lab = {"ALLREDUCE_BENCH_LAB": "h1=5:12500000.0 h2=17:none", "PATH": "/usr/bin:/bin"}
    result = subprocess.run(["bash", "-c", AGENT_SCRIPT, "agent", *words], env=lab, capture_output=True, text=True)
    host = words[-2]
    assert (result.returncode, result.stderr) == (255, f"{UNRESOLVED}{host}\n")
