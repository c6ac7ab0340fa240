"""Wrong words are answered in one line, with the word that was meant; values as other tools have them are taken."""

import re

import pytest
from click.testing import CliRunner

from allreduce_bench.cli import main
from allreduce_bench.cli.run import run
from allreduce_bench.runs.control import FORMATS
from allreduce_bench.runs.option_values import dtype_named, op_named


def said(*words: str) -> str:
    """The one line with which the words are refused."""
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2 and not result.stdout and result.stderr.count("\n") == 1, result.output
    return result.stderr.strip()


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("submit --nodes 2 -p debug", "no such option: -p; put options"),
        ("run ring", "did you mean -a ring[?]"),
        ("run 4", "did you mean -n 4[?]"),
        ("submit --nodes 2 --hosts n1", "no such option: --hosts; put options"),
        ("run --sizes 8:1M", "--sizes: '8:1M' is not a size"),
        ("run --segment 3", "--segment: 3 bytes are not a whole number"),
        ("run --cache warm --cache cold", "--cache: given twice"),
        ("run -x 200", "-x: '200': expected NAME=VALUE, such as UCX_TLS=tcp"),
        # values
        ("run -d MPI_CHAR", re.escape("unknown dtype 'MPI_CHAR'; known: float16")),
        # words that are nearly right
        ("rnu", re.escape("no such command: 'rnu'; did you mean run? 'allreduce-bench --help' shows all")),
        (
            "run --withn 2m",
            re.escape(
                "run: no such option: --withn; did you mean --within? 'allreduce-bench run --help-all' shows all"
            ),
        ),
        ("run --bogus", re.escape("run: no such option: --bogus; 'allreduce-bench run --help-all' shows all")),
        ("submit --nods 2", r"did you mean --nodes\? put options"),
        ("run --format tabel", re.escape("; did you mean table?")),
        ("-n 4", "command: -n"),
    ],
)
def test_wrong_words_are_answered_in_one_line(words, line):
    assert re.search(line, said(*words.split()))


def test_habits_that_mean_the_same_everywhere_are_taken():
    words = ["-np", "4", "-w", "3", "-d", "float", "--op", "MPI_SUM", "-b", "8", "-e", "1MB", "-f", "2"]
    options = run.make_context("run", words).params
    taken = {name: options[name] for name in ("ranks", "warmups", "dtype", "op", "minbytes", "maxbytes", "stepfactor")}
    expected = {"ranks": (4,), "warmups": 3, "dtype": "float32", "op": "sum"}
    assert taken == expected | {"minbytes": 8, "maxbytes": 1 << 20, "stepfactor": 2.0}


def test_the_names_of_other_tools():
    assert [dtype_named(name) for name in ("double", "MPI_INT", "half", "nonsense")][:3] == [
        "float64",
        "int32",
        "float16",
    ]
    assert (dtype_named("MPI_CHAR"), op_named("MPI_MAX"), op_named("MPI_BAND")) == ("MPI_CHAR", "max", "MPI_BAND")
    assert {"nccl", "osu"} < {*FORMATS}
