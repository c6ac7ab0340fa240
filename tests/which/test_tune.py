"""`tune`: from runs to a file that the library loads, and what of it is proved."""

import os
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from interpreters import interpreters
from made_tunings import OTHER_HOST, RULES, TUNING, halved, tuned_run

from allreduce_bench.cli import main
from allreduce_bench.launching.find import find_launcher
from allreduce_bench.runs.start import Start
from allreduce_bench.which import tune as command
from allreduce_bench.which.tuning_files import read_tuning, write_tuning
from allreduce_bench.which.tuning_proof import DOES_NOT_ACT, Alternated, Seen

PROOF = """
import sys
from pathlib import Path
from allreduce_bench.launching.find import find_launcher
from allreduce_bench.runs.start import Start
from allreduce_bench.which.tune import _prefix
from allreduce_bench.which.tuning import Rule, Tuning
from allreduce_bench.which.tuning_files import read_tuning, refuse_changed, variables_of, write_tuning
from allreduce_bench.which.tuning_proof import look_at_rules

path, launcher = Path(sys.argv[1]), find_launcher(Start())
rules = (Rule(4, 64, 4096, "ring", (), 1.2, 1.3, 1.1, 5),)
tuning = Tuning(launcher.library, ("run",), ("day",), ("host",), "", (4,), (64, 4096), rules)
write_tuning(path, tuning, _prefix(launcher))
tuning = read_tuning(path)
refuse_changed(path, tuning, _prefix(launcher))
for one in look_at_rules(tuning, variables_of(str(path), tuning), launcher, lambda words: None):
    print(one.ranks, one.size_bytes, one.words)
"""


def tune(*words):
    """Status and output of the command."""
    done = CliRunner().invoke(main, ["tune", *map(str, words)], catch_exceptions=False)
    return done.exit_code, done.output


@pytest.fixture
def of_this_library():
    """The facts of launches by the library at hand."""
    return {"mpi": {"library": find_launcher(Start()).library, "mpi_standard": "3.1", "thread_level": "single"}}


def test_runs_become_a_file_with_the_gain_and_how_to_load_it(tmp_path, of_this_library):
    gains, path = halved("native:ring", (1024, 8192, 1 << 16)), tmp_path / "rules"
    runs = [tuned_run(tmp_path / name, gains, facts=of_this_library) for name in "ab"]
    status, said = tune(*runs, "-o", path)
    assert status == 0, said
    assert "1 KiB to 64 KiB" in said and "native:default" in said and "draft" in said
    assert f"OMPI_MCA_coll_tuned_dynamic_rules_filename={path}" in said
    assert tune(runs[0], "-o", path)[0] == 0  # its own file is replaced


def test_two_allocations_are_no_draft(tmp_path, of_this_library):
    gains = halved("native:ring", (1024, 8192))
    runs = [tuned_run(tmp_path / "a", gains, facts=of_this_library)]
    runs += [tuned_run(tmp_path / "b", gains, facts={**of_this_library, **OTHER_HOST})]
    status, said = tune(*runs)
    assert status == 0 and "draft" not in said and "-o FILE" in said


def test_an_empty_file_is_nothing_to_prove(tmp_path, of_this_library):
    path = tmp_path / "rules"
    assert "no algorithm" in tune(tuned_run(tmp_path / "a", {}, facts=of_this_library), "-o", path)[1]
    status, said = tune("--verify", path)
    assert status == 0 and "no rules" in said


def made_by_hand(path, tuning):
    write_tuning(path, tuning, Path(find_launcher(Start()).program).resolve().parent.parent)
    return path


@pytest.mark.parametrize(
    "changed, status, said",
    [
        (lambda text: text.replace("Open MPI 5.0.11", "Open MPI 5.0.1"), 1, "measured with Open MPI 5.0.1"),
        (lambda text: text.replace("512 3 0 0", "512 x 0 0"), 1, "make it again"),
        (lambda text: text.replace("allreduce-bench tune: {", "{"), 2, "no file of tune"),
    ],
)
def test_what_is_no_proof_is_said(tmp_path, changed, status, said):
    path = made_by_hand(tmp_path / "rules", TUNING)
    path.write_text(changed(path.read_text()))
    found, words = tune("--verify", path)
    assert found == status and said in words and "Traceback" not in words


def turn(rule, gain, worst, size_bytes=1024):
    return Alternated(rule, size_bytes, gain * 1e-6, 1e-6, (gain, worst))


TURNS = {
    "proved": ([turn(one, 1.2, 1.1) for one in RULES], "", 0, "verified: 1.2 times", RULES),
    "slower in a round": (
        [turn(RULES[0], 1.2, 0.8), *(turn(one, 1.2, 1.1) for one in RULES[1:])],
        "",
        1,
        "failed: 4 ranks, 512 B to 8 KiB",
        RULES[1:],
    ),
    "without times": ([turn(RULES[0], 1.2, 1.1)], "", 1, "no times in turn", RULES[:1]),
    "noise": ([turn(RULES[0], 1.2, 0.8)], "these times are not reliable", 1, "not verified: these times", RULES),
}


@pytest.mark.parametrize("turns, doubt, status, said, left", TURNS.values(), ids=TURNS)
def test_no_rule_stays_that_is_not_proved(tmp_path, monkeypatch, turns, doubt, status, said, left):
    path = made_by_hand(tmp_path / "rules", TUNING)
    monkeypatch.setattr(command, "look_at_rules", lambda *_: [])
    monkeypatch.setattr(
        command, "alternate", lambda tuning, ranks, *_: ([one for one in turns if one.rule.ranks == ranks], doubt)
    )
    found, words = tune("--verify", path)
    assert found == status and said in " ".join(words.split())
    tuning = read_tuning(path)
    assert tuning.rules == tuple(left) and bool(tuning.verified) == (not doubt)


def test_a_rule_that_does_not_act_is_no_matter_of_noise(tmp_path, monkeypatch):
    wrong = Seen(4, 512, "recursive_doubling", ("ring",), ("ring",), DOES_NOT_ACT)
    monkeypatch.setattr(command, "look_at_rules", lambda *_: [wrong])
    status, said = tune("--verify", made_by_hand(tmp_path / "rules", TUNING))
    assert status == 1 and f"failed: {DOES_NOT_ACT} at 1 of 1" in said


@pytest.mark.parametrize("words", [(), ("nowhere",), ("--verify", "nowhere"), ("run", "--verify", "file")])
def test_bad_usage_ends_with_two(words):
    status, said = tune(*words)
    assert status == 2 and said.count("\n") == 1


@pytest.mark.contract
@pytest.mark.parametrize("python", [one for one in interpreters() if "impi" not in str(one)])
def test_the_file_acts_where_it_shall_and_nowhere_else(python, tmp_path):
    command = [str(python), "-c", PROOF, str(tmp_path / "rules")]
    not_counted = {**os.environ, "OMPI_MCA_pml": "ob1"}  # messages: orders tell these apart
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240, env=not_counted)
    assert done.returncode == 0, done.stderr
    found = [line.split(maxsplit=2) for line in done.stdout.splitlines()]
    assert {words for ranks, size, words in found if ranks == "4" and 64 <= int(size) <= 4096} == {"acts"}
    assert not {words for *_, words in found} & {"CHANGED", "DOES NOT ACT"} and len(found) > 6
