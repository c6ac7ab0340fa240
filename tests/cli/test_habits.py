"""What users of other tools type is taken where it means the same everywhere, else answered with our word for it."""

import re

import click
import pytest
from click.testing import CliRunner
from has_message import message_pattern

from allreduce_bench.cli import main
from allreduce_bench.cli.refusals import COMMAND_HABITS, OPTION_HABITS
from allreduce_bench.cli.run import run
from allreduce_bench.runs.control import FORMATS
from allreduce_bench.runs.option_values import dtype_named, op_named, size_habit

OPTIONS = {name: option for option in run.params for name in (*option.opts, *option.secondary_opts)}


def said(*words: str) -> str:
    """The one line with which the words are refused."""
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2 and not result.stdout and result.stderr.count("\n") == 1, result.output
    return result.stderr.strip()


@pytest.mark.parametrize(
    ("words", "line"),
    [
        # nccl-tests
        ("run -b 8 -e 128M -f 2 -g 1", re.escape("no such option: -g; buffers are in host memory")),
        (
            "run -i 20",
            re.escape(
                "no such option: -i; set the number of timed calls with --iters 100; set the sizes with -b 8 -e 1M -f 2"
            ),
        ),
        (
            "run --datatype float",
            re.escape("no such option: --datatype; set the element type with -d float32, or --dtype float32"),
        ),
        ("run -c 1", re.escape("no such option: -c; every result is checked")),
        ("run -J out.json", re.escape("no such option: -J; choose the format on stdout with --format json")),
        # OSU Micro-Benchmarks
        ("run -m 8:1M", re.escape("no such option: -m; set the sizes with -b 8 -e 1M -f 2, or --sizes 8,1K,1M")),
        ("run -x 200", re.escape("no such option: -x; set the number of untimed calls with --warmups 5, or -w 5")),
        ("run -f -m 8:1M", re.escape("no such option: -m; set the sizes with")),
        (
            "osu_allreduce -m 8:1M",
            re.escape("no such command: 'osu_allreduce'; measure with: allreduce-bench run -n 4"),
        ),
        # Intel MPI Benchmarks
        ("run -npmin 2", re.escape("no such option: -npmin; set the number of ranks with -n 4, or -n 2,4,8")),
        ("run -msglog 3:20", re.escape("no such option: -msglog; set sizes 2^3 to 2^20 with -b 8 -e 1M -f 2")),
        ("run -iter 100", re.escape("no such option: -iter; set the number of timed calls with --iters 100")),
        ("IMB-MPI1 Allreduce", re.escape("no such command: 'IMB-MPI1'; measure with: allreduce-bench run -n 4")),
        # mpirun and Slurm
        ("run --np 4", re.escape("no such option: --np; set the number of ranks with -n 4")),
        ("run -ppn 4", re.escape("no such option: -ppn; set the ranks on each node with --ranks-per-node 8")),
        ("submit --nodes 2 -p debug", message_pattern("cli.put_options_sbatch_after", sentence="no such option: -p;")),
        ("submit --nodes 2 -x n1", message_pattern("cli.put_options_sbatch_after", sentence="no such option: -x;")),
        (
            "submit --iterations 20",
            re.escape("no such option: --iterations; set the number of timed calls with --iters 100"),
        ),
        # values
        ("run --sizes 8-64", message_pattern("runs.range_expected_single_sizes")),
        ("run --sizes 8:1M", re.escape("with run use -b 8 -e 1M for a range")),
        ("run -e 1e6", message_pattern("runs.not_size_expected_bytes", nbytes="1000000")),
        ("run -d MPI_CHAR", re.escape("unknown dtype 'MPI_CHAR'; known: float16")),
        # options that there were once
        ("run --stage /tmp", re.escape("run: no such option: --stage; copy the environment to the nodes")),
        ("submit --stage=/tmp --nodes 2", re.escape("submit: no such option: --stage; copy the environment")),
        # words that are nearly right
        ("rnu", re.escape("no such command: 'rnu'; did you mean run? 'allreduce-bench --help' shows all")),
        (
            "run --withn 2m",
            re.escape(
                "run: no such option: --withn; did you mean --within? 'allreduce-bench run --help-all' shows all"
            ),
        ),
        ("run --bogus", re.escape("run: no such option: --bogus; 'allreduce-bench run --help-all' shows all")),
        ("submit --nods 2", message_pattern("cli.put_options_sbatch_after", sentence="did you mean --nodes?")),
        ("run --format tabel", re.escape("; did you mean table?")),
        ("-n 4", message_pattern("cli.no_such_option_before", name="-n")),
    ],
)
def test_habits_of_other_tools_are_answered_in_one_line(words, line):
    assert re.search(line, said(*words.split()))


def test_habits_that_mean_the_same_everywhere_are_taken():
    words = ["-np", "4", "-w", "3", "-d", "float", "--op", "MPI_SUM", "-b", "8", "-e", "1MB", "-f", "2"]
    options = run.make_context("run", words).params
    taken = {name: options[name] for name in ("ranks", "warmups", "dtype", "op", "minbytes", "maxbytes", "stepfactor")}
    expected = {"ranks": (4,), "warmups": 3, "dtype": "float32", "op": "sum"}
    assert taken == expected | {"minbytes": 8, "maxbytes": 1 << 20, "stepfactor": 2.0}


@pytest.mark.parametrize("habit", [*OPTION_HABITS])
def test_no_habit_is_an_option_of_run(habit):
    assert habit not in OPTIONS


@pytest.mark.parametrize("line", sorted({*OPTION_HABITS.values(), *COMMAND_HABITS.values()}))
def test_a_hint_names_options_and_values_that_there_are(line):
    for words in re.findall(r"(?<![\w-])(--?[a-z][a-z-]*)( [\w,.]+)?", line):
        if words[0] in ("--version", "--help"):
            continue
        option = OPTIONS[words[0]]
        if re.match(r" [\d.]|.*,", words[1]) or words[0] in ("--sync", "--cache", "--record", "--format"):
            option.type_cast_value(click.Context(run), words[1].strip(" ,").split(",")[0])
    for command in re.findall(r"allreduce-bench ([a-z]+)", line):
        assert command in main.list_commands(None)


def test_the_names_of_other_tools():
    assert [dtype_named(name) for name in ("double", "MPI_INT", "half", "nonsense")][:3] == [
        "float64",
        "int32",
        "float16",
    ]
    assert (dtype_named("MPI_CHAR"), op_named("MPI_MAX"), op_named("MPI_BAND")) == ("MPI_CHAR", "max", "MPI_BAND")
    assert size_habit("8") == size_habit("x") == size_habit("1.5e0") == ""
    assert {"nccl", "osu"} < {*FORMATS}
