"""Whether ranks can be compiled for is known without importing what compiles."""

import subprocess
import sys

from allreduce_bench.machine import compiler


def test_with_numba_nothing_is_said_and_nothing_heavy_is_loaded():
    ask = "import sys; from allreduce_bench.machine.compiler import why_not_compiled; print(why_not_compiled()); "
    ask += "print({'numba', 'llvmlite', 'mpi4py'} & sys.modules.keys())"
    answer = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    assert answer.stdout.splitlines() == ["None", "set()"]


def test_without_numba_or_off_linux_one_sentence_says_what_to_do(monkeypatch):
    monkeypatch.setattr(compiler, "find_spec", lambda name: None)
    assert compiler.why_not_compiled() == ("--executor compiled needs numba: pip install 'allreduce-bench[compiled]'")
    monkeypatch.setattr(compiler.sys, "platform", "darwin")
    assert "needs Linux" in (compiler.why_not_compiled() or "")
