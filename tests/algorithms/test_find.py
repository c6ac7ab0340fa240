"""A user's own file: proved and explained like a built-in algorithm, refused in words when it is wrong."""

import re

import pytest
from click.testing import CliRunner, Result
from made_runs import build_run

from allreduce_bench.algorithms import AlgorithmError, find
from allreduce_bench.cli import main

HEAD = '''"""My own all-reduce."""

from allreduce_bench.algorithms import Cost, algorithm
from allreduce_bench.schedule import Step, split


def cost(size, topology, count, segment):
    return Cost(2 * (size - 1), 2 * (size - 1) * count, (size - 1) * count)

'''
DECLARE = '@algorithm(cost=cost, exact=True, formula="2(p-1) (alpha + n beta)")\n'
SUMMARY = "The vector goes up a chain of ranks and comes down again."
CHAIN = '''
def chain(rank, size, topology, count, segment):
    """@SUMMARY@"""
    whole = (range(count),)
    if rank > 0:
        yield Step(rank - 1, whole, None, ()) if rank == size - 1 else Step(None, (), rank + 1, whole, reduce=True)
    elif size > 1:
        yield Step(None, (), 1, whole, reduce=True)
    if 0 < rank < size - 1:
        yield Step(rank - 1, whole, None, ())
    if rank > 0:
        yield Step(None, (), rank - 1, whole)
    if rank < size - 1:
        yield Step(rank + 1, whole, None, ())
'''.replace("@SUMMARY@", SUMMARY)


def bench(*words) -> Result:
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.fixture
def mine(tmp_path):
    """Write `mine.py` and give its path."""

    def write(text: str):
        path = tmp_path / "mine.py"
        path.write_text(text)
        return path

    return write


def test_my_own_algorithm_is_found_and_proved(mine):
    result = bench("verify", mine(HEAD + DECLARE + CHAIN), "-n", "1-9")
    assert result.exit_code == 0, result.output
    line = result.stdout.splitlines()[1]
    assert line.startswith("chain ") and line.split()[2:5] == ["9", "4", "2.000"]
    assert line.endswith("always      always")


def test_my_own_algorithm_is_explained(mine):
    result = bench("explain", mine(HEAD + DECLARE + CHAIN), "-n", "3")
    assert result.exit_code == 0, result.output
    assert "rank 2 (c) sends c1 to rank 1 (b), which adds it" in result.stdout
    assert "rounds on the critical path: 4" in result.stdout
    assert "2(p-1) (alpha + n beta) (exact)" in result.stdout


def test_a_file_may_hold_several_algorithms_and_import_others(mine):
    text = HEAD + "from allreduce_bench.algorithms.ring import ring\n\n\n" + DECLARE + CHAIN.lstrip()
    text += "\n\n" + DECLARE + CHAIN.lstrip().replace("def chain", "def again")
    assert list(find([str(mine(text))])) == ["chain", "again"]  # the imported one is not mine


@pytest.mark.parametrize(
    "good, bad, words",
    [
        ("1, whole, reduce=True", "1, whole", "rank 0 ends without a1"),
        ("rank - 1, whole)", "rank - 1, whole, reduce=True)", r"round \d: rank 1 adds b1 \(element 0\) twice"),
        ("rank - 1, whole)", "rank - 2, whole)", r"round \d: rank \d (cannot|waits forever to) receive from rank"),
        ("(range(count),)", "(range(count - 1),)", r"ends without b\d"),
        ("(range(count),)", "(range(count + 1),)", "names elements outside of 0 to"),
        ("rank + 1, whole, None", "rank + 1, (range(min(1, count)),), None", "expects"),
        (
            "rank < size - 1:\n        yield",
            "False:\n        yield",
            "waits forever to receive from rank 0, which has finished",
        ),
    ],
)
def test_a_wrong_algorithm_is_refused_with_exit_status_1(mine, good, bad, words):
    assert good in CHAIN
    result = bench("verify", mine(HEAD + DECLARE + CHAIN.replace(good, bad)), "-n", "2-4")
    assert result.exit_code == 1
    line = result.stdout.splitlines()[1]
    assert re.match(
        r"chain +REFUSED  2 ranks on nodes \S+, \d+ elements, segments of \d+: (\S+\.py:\d+: )?round \d+: rank \d ",
        line,
    ), line
    assert re.search(words, line), line


def test_what_waits_for_ever_cannot_be_explained(mine):
    stuck = CHAIN.replace("rank < size - 1:\n        yield", "False:\n        yield")
    result = bench("explain", mine(HEAD + DECLARE + stuck), "-n", "2")
    assert result.exit_code == 1 and not result.stdout
    assert re.fullmatch(r"error: chain, 2 ranks: \S+\.py:\d+: round 2: rank 1 waits forever [^\n]+\n", result.stderr)


@pytest.mark.parametrize(
    "text, words",
    [
        (None, "Python file"),
        ("", "defines"),
        (HEAD + CHAIN, "defines"),
        ("def (:", "imported: SyntaxError"),
        (
            "import no_such_module",
            re.escape("cannot be imported: ModuleNotFoundError: No module named 'no_such_module'"),
        ),
        ("1 / 0", "imported: ZeroDivisionError: division by zero"),
        (
            HEAD + DECLARE + CHAIN.replace("def chain", "def ring"),
            "named 'ring'",
        ),
        (HEAD + DECLARE + CHAIN + '\nchain = chain._replace(name="a@b")\n', "holds no @ and no :, found 'a@b'"),
        (
            HEAD + DECLARE.replace("exact", "needs={'prime'}, exact") + CHAIN,
            "unknown need prime; known: equal-nodes, even, power-of-two",
        ),
    ],
    ids=[
        "missing",
        "empty",
        "undecorated",
        "no Python",
        "missing import",
        "raises",
        "name taken",
        "parts",
        "unknown need",
    ],
)
def test_a_file_that_is_no_algorithm_is_refused_in_one_line(tmp_path, mine, text, words):
    path = tmp_path / "mine.py" if text is None else mine(text)
    with pytest.raises(AlgorithmError, match=words) as refused:
        find([str(path)])
    assert str(path) in str(refused.value) and "\n" not in str(refused.value)


def test_what_is_neither_a_name_nor_a_file_is_answered_with_the_nearest_name():
    with pytest.raises(AlgorithmError, match="unknown algorithm 'rign'; did you mean ring[?] 'allreduce-bench list'"):
        find(["rign"])
    with pytest.raises(AlgorithmError, match="whichever way they are run; use ring"):
        find(["ring@pipelined"])


@pytest.mark.parametrize(
    ("body", "command"),
    [
        ("raise KeyError('lost')", "verify"),
        ("yield 1 / 0", "verify"),
        ("yield Step(1)", "verify"),
        ("yield None", "verify"),
        ("yield Step(size, (range(9),), None, ())", "verify"),
        ("raise KeyError('lost')", "explain"),
    ],
)
def test_an_algorithm_that_fails_while_it_yields_is_said_in_one_line(mine, body, command):
    path = mine(
        HEAD + DECLARE + f"def broken(rank, size, topology, count, segment):\n    {body}\n    return\n    yield\n"
    )
    result = bench(command, "-n", "3", path)
    assert result.exit_code != 0
    assert "broken" in result.output and "Traceback" not in result.output


def test_reading_a_run_runs_none_of_the_files_that_it_names(mine, tmp_path):
    path = mine(HEAD + DECLARE + CHAIN)
    run = build_run(tmp_path / "run", algorithms=("ring",), choices={"files": (str(path),), "file_digests": ("0",)})
    path.write_text("raise SystemExit('was run')\n")
    for command in ("report", "fit"):
        assert bench(command, run.path).exit_code == 0


def test_a_name_that_is_no_text_is_refused(tmp_path):
    mine = tmp_path / "mine.py"
    mine.write_text(
        "from allreduce_bench.schedule.algorithm import algorithm\n\n\n"
        "def mine(rank, size, count):\n    yield from ()\n\n\n"
        'mine.__name__ = "a\\udcff"\nmine = algorithm(cost=None, exact=True, formula="0")(mine)\n'
    )
    with pytest.raises(AlgorithmError, match=re.escape(f"{mine}: the name") + r".*algorithm is 'a\\udcff'"):
        find([str(mine)])
