"""Compiled executors over real MPI: exact, with the bits that Python gives, timed in the kernel, compiled once."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from interpreters import FULL, contract, in_turn, interpreters
from measured_runs import with_package
from rank_programs import mpirun

WITH_NUMBA = [python for python in interpreters() if list(python.parent.parent.glob("lib/python*/site-packages/numba"))]
RANKS = [1, 2, 3, 4, 5, 8]
LIMIT_S = 900 if FULL else 600

pytestmark = pytest.mark.skipif(not WITH_NUMBA, reason="no interpreter here has an MPI and numba")


@pytest.fixture(params=WITH_NUMBA, ids=lambda path: path.parent.parent.name)
def python(request) -> Path:
    return request.param


@pytest.mark.parametrize("ranks", RANKS if FULL else [5])  # the contract has 4
def test_every_algorithm_is_exact_from_compiled_code(python, on_ranks, ranks):
    in_turn((RANKS.index(ranks) + 1) // 2, python)
    options = {"sample": True, "half": not FULL, "few_types": has_few_types(python)}  # the other half on one rank more
    number, wrong = on_ranks(ranks, "compiled_exactness.compiled", **options, limit_s=LIMIT_S)[0]
    assert not wrong and number > 80


def test_every_algorithm_is_exact_where_sends_wait_for_receives(python):
    """In one start: what the kernel calls stays in the process."""
    turn = interpreters().index(python)
    numbers = RANKS[turn :: len(interpreters())] if FULL else [2, 3]
    options = [*["--half"] * (not FULL), *["--few-types"] * has_few_types(python), *map(str, numbers)]
    status, words = mpirun(python, max(numbers), "compiled_exactness.py", *options, timeout_s=LIMIT_S)
    tried = re.findall(r"^(\d+) ranks: (\d+) cases, wrong: \[\]$", words, re.MULTILINE)
    assert status == 0 and [int(ranks) for ranks, _ in tried] == numbers, words
    assert all(int(number) > 80 for _, number in tried)


def has_few_types(python: Path) -> bool:
    return not FULL and python != WITH_NUMBA[0]


@pytest.mark.slow
def test_the_check_notices_damage(python, on_ranks):
    in_turn(1, python)
    _, wrong = on_ranks(2, "compiled_exactness.compiled", sample=True, few_types=True, damaged=True, limit_s=600)[0]
    assert any(words.startswith("ring, ") for words in wrong)


@pytest.mark.parametrize("way", ["barrier", "round_time"])
def test_the_loop_of_the_kernel_fills_the_rows_of_the_python_loop(python, on_ranks, way):
    in_turn(len(way), python)
    on_ranks(2, "compiled_loop.as_from_python", way, limit_s=LIMIT_S)


@contract
def test_an_mpi_of_unknown_handles_is_refused_in_a_sentence(python, on_ranks):
    words = "compiled code cannot call this MPI library: handles of 8, 16 bytes, expected 4 or 8"
    assert on_ranks(1, "unknown_handles.reason_not_ready") == [words]


def test_machine_code_is_kept_for_the_next_process(python, tmp_path):
    in_turn(0, python)
    ask = (
        "from allreduce_bench.executing import compiled, kernel; compiled.make_ready('int32'); "
        "print(sum(kernel.loop.stats.cache_hits.values()))"
    )
    environment = {**with_package(), "NUMBA_CACHE_DIR": str(tmp_path)}
    hits = []
    for _ in range(2):
        run = subprocess.run([str(python), "-c", ask], env=environment, capture_output=True, text=True, timeout=600)
        assert run.returncode == 0, run.stderr
        hits.append(run.stdout.strip())
    assert hits == ["0", "1"]


def test_the_folder_of_machine_code_is_the_users_where_the_package_cannot_be_written(monkeypatch, tmp_path):
    pytest.importorskip("numba")
    from allreduce_bench.executing import compiled

    installed, user = tmp_path / "installed", tmp_path / "user"
    installed.mkdir()
    (installed / "__pycache__").write_text("no folder can be made in here")
    monkeypatch.setattr(compiled, "__file__", str(installed / "compiled.py"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(user))
    folder = compiled.cache_folder()
    assert folder.is_dir() and folder.is_relative_to(user) and re.fullmatch(r"kernel-[0-9a-f]{8}", folder.name)
    user.rename(tmp_path / "away")
    user.write_text("nor here")
    monkeypatch.setattr(compiled.tempfile, "tempdir", str(tmp_path))
    assert compiled.cache_folder().name == f"allreduce-bench-{os.getuid()}"
    compiled.cache_folder().chmod(0o777)  # as somebody else may have made it, with code of theirs in it
    other = compiled.cache_folder()
    assert other.name != f"allreduce-bench-{os.getuid()}" and other.stat().st_mode & 0o777 == 0o700
