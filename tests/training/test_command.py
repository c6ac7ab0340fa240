"""`workload` as people type it: buckets, modelled steps, files, traces, figures, errors in one line."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hand_models import hand_model
from places import ROOT

from allreduce_bench.cli import main
from allreduce_bench.models.machine import Machine, bare_machine, write_machine
from allreduce_bench.training.command import scale_of

LOGS = ROOT / "tests" / "data" / "logs"
PRICES = ("--alpha", "20us", "--bandwidth", "10Gbit")
STEP = ("resnet50", "--compute", "100ms", "-a", "ring,rabenseifner", *PRICES)


def bench(*words: object) -> Result:
    """Run the command line; what is no SystemExit is a bug and must not be hidden."""
    result = CliRunner().invoke(main, ["workload", *map(str, words)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def printed(*words: object) -> str:
    result = bench(*words)
    assert result.exit_code == 0 and not result.stderr, result.output
    return result.stdout


def refused(*words: object) -> str:
    """The one line that a bad use of the program gets, at exit status 2."""
    result = bench(*words)
    assert result.exit_code == 2 and not result.stdout, result.output
    assert re.fullmatch(r"error: [^\n]+\n", result.stderr), result.stderr
    return result.stderr


def facts(*words: object) -> dict:
    return json.loads(printed(*words, "--format", "json"))


def test_buckets_alone():
    rows = printed("resnet50").splitlines()[3:]
    assert [row.split()[1] for row in rows] == ["7.82", "30.04", "25.04", "25.32", "9.27"]
    assert "1 in the first" in printed("ResNet-50")
    assert len(printed("resnet50", "--bucket-cap", "50M").splitlines()) == 5


def test_a_step_on_several_numbers_of_ranks():
    text = printed(*STEP, "-n", "2,4")
    assert "weak scaling" in text.splitlines()[-1]
    assert "nothing was measured" in text


def test_options_change_the_step():
    base = facts(*STEP, "-n", 8)["steps"][0]
    early = facts(*STEP, "-n", 8, "--compute", "10ms+90ms")["steps"][0]
    assert early["compute_s"] == pytest.approx(0.1) and early["exposed_s"] < base["exposed_s"]
    assert facts(*STEP, "-n", 8, "--dtype", "bfloat16")["steps"][0]["exposed_s"] < base["exposed_s"] / 2


def test_a_log_needs_the_number_of_ranks():
    words = ("gpt2", "--compute", "10ms", "--scale", "1/64", "-m", ROOT / "docs" / "example", "-a", "ring")
    (step,) = facts(*words, "-n", 4)["steps"]
    assert step["communication_s"] > 0
    said = refused(*words, "-n", 8)
    assert "contains no all-reduce" in said and "8 ranks" in said


def test_a_scaled_model_keeps_its_number_of_buckets():
    small = facts(*STEP, "-n", 2, "--scale", "1/64")
    assert (small["model"]["scale"], len(small["buckets"])) == (1 / 64, 5)
    assert small["title"] == "ResNet-50 scaled by 0.0156"


def test_a_machine_file_and_prices_say_the_same(tmp_path):
    write_machine(bare_machine(20e-6, 8e-10), tmp_path / "machine.json")
    words = ("resnet50", "--compute", "100ms", "-n", 4, "-a", "ring")
    by_file = facts(*words, "-m", tmp_path / "machine.json")["steps"]
    assert by_file == facts(*words, *PRICES)["steps"]


@pytest.mark.parametrize(
    "log, ranks", [("osu_v5.6.2_stackhpc_csd3.txt", 2), ("nccl_cscs_alps_8xGH200_ofi_hook_good.txt", 8)]
)
def test_a_log_of_another_tool_answers(log, ranks):
    found = facts("resnet50", "--compute", "100ms", "-m", LOGS / log, "-n", ranks)
    (step,) = found["steps"]
    assert step["ranks"] == ranks and step["algorithms"] == ["native"] and step["communication_s"] > 0
    assert log in found["source"]


def test_far_above_the_longest_size_of_a_log_the_answer_is_speculative():
    words = ("resnet50", "--compute", "100ms", "-m")
    *_, warning, _, answer = printed(*words, LOGS / "osu_v5.8_cuda_flux_16nodes.txt").splitlines()
    assert warning.startswith("warning, 128 ranks: 5 of 5 all-reduces are more than 2 times as long as the longest")
    assert "(1 MiB)" in warning and answer.endswith("(modelled, speculative).")
    assert "speculative" not in printed(*words, LOGS / "nccl_cscs_alps_8xGH200_ofi_hook_good.txt")


def test_a_run_answers_for_the_ranks_that_it_has():
    found = facts("resnet50", "--compute", "10ms", "--scale", "1/64", "-m", ROOT / "docs" / "example", "-a", "ring")
    assert [step["ranks"] for step in found["steps"]] == [2, 3, 4]
    said = refused("resnet50", "--compute", "1ms", "-m", ROOT / "docs" / "example", "-n", 64)
    assert "contains no all-reduce" in said and "64 ranks" in said


def test_shapes_of_ones_own(tmp_path):
    shapes = tmp_path / "mine.csv"
    shapes.write_text("name,shape\na,1024x1024\nb,1024\n")
    assert "mine: 1,049,600 parameters in 2 tensors" in printed(shapes)
    found = facts(shapes, "--compute", "10ms", *PRICES, "-n", 4)
    assert found["packing"]["ready_by"] == "bytes"


def test_the_types_of_a_file_are_named_and_another_one_is_refused(tmp_path):
    shapes = tmp_path / "mine.csv"
    shapes.write_text("a,1024x1024,torch.bfloat16\nb,1024,torch.float32\n")
    assert "2.004 MiB of bfloat16 and float32 gradients" in printed(shapes)
    said = refused(shapes, "--dtype", "float16")
    assert "--dtype float16: " in said and "tensor (bfloat16, float32)" in said
    shapes.write_text("a,1024x1024\nb,1024,float32\n")
    assert "2.004 MiB of float16 and float32" in printed(shapes, "--dtype", "float16")


def test_a_trace_and_a_figure_are_written(tmp_path):
    trace, figure = tmp_path / "step.json", tmp_path / "step.png"
    printed(*STEP, "-n", "2,4", "-o", trace, "-o", figure)
    events = json.loads(trace.read_text())["traceEvents"]
    assert sum(event["ph"] == "X" for event in events) == 2 * (2 + 5)
    assert {event["args"]["name"] for event in events if event["name"] == "process_name"} == {
        "ResNet-50, 2 ranks, modelled",
        "ResNet-50, 4 ranks, modelled",
    }
    assert figure.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "parse, text, said",
    [
        (scale_of, "2", "not a scale"),
        (scale_of, "1/0", "not a scale"),
    ],
)
def test_words_without_a_meaning_are_refused(parse, text, said):
    with pytest.raises(ValueError, match=said):
        parse(text)


@pytest.mark.parametrize(
    "words, said",
    [
        ((), "MODEL is missing.*resnet50"),
        (("alexnet",), "unknown model 'alexnet'"),
        (("resnet50", "--compute", "1ms"), "-m FILE; found none"),
        ((*STEP, "-m", "x.json"), "-m FILE; found both"),
        ((*STEP, "--compute", "1ms+"), "--compute: '' is not a duration"),
        (("resnet50", "--compute", "1ms", "--alpha", "1us"), re.escape("--alpha and --bandwidth: both are needed")),
        (
            ("resnet50", "--bucket-cap", "0"),
            "--bucket-cap 0: a bucket holds",
        ),
        (("resnet50", "--bucket-cap", "25"), r"25: 25 bytes.*unit missing, as in 25M\?"),
        ((*STEP, "-o", "x.csv"), r"-o x\.csv: expected.*ends in \.json"),
        (("nowhere.csv",), re.escape("nowhere.csv: no such file or directory")),
        ((*STEP, "--dtype", "float33"), re.escape("--dtype: unknown dtype 'float33'; did you mean float32?")),
        (
            ("resnet50", "--compute", "1ms", "--alpha", "3", "--bandwidth", "1Gbit"),
            r"--alpha 3: 3 s, more.*as in 5us\?",
        ),
    ],
)
def test_bad_use_gets_one_line(words, said, tmp_path):
    assert re.search(said, refused(*words))
    assert not [*Path(tmp_path).iterdir()]


def test_what_is_no_machine_file_or_log_gets_one_line(tmp_path):
    (tmp_path / "x.txt").write_text("no log\n")
    (tmp_path / "cut.json").write_text('{"kind": "allreduce-bench machine", ')
    assert "not JSON" in refused("resnet50", "--compute", "1ms", "-m", tmp_path / "cut.json")
    assert "unknown log format" in refused("resnet50", "--compute", "1ms", "-m", tmp_path / "x.txt")


@pytest.mark.parametrize("column", ["system", "dtype", "nodes", "mpi"])
def test_times_of_two_systems_types_layouts_or_libraries_are_not_mixed(column, tmp_path):
    values = {"system": ("a", "b"), "dtype": ("int32", "float32"), "nodes": (1, 2), "mpi": ("X 1", "X 2")}[column]
    path, words = tmp_path / "x.csv", ("resnet50", "--compute", "1ms", "-m")
    rows = [f"2,ring,1024,{number}.5,{value}\n" for number, value in enumerate(values, 1)]
    path.write_text("".join([f"ranks,algorithm,size_bytes,time_us,{column}\n", *rows]))
    refusal = bench(*words, path)
    assert refusal.exit_code == 2 and "--where" in refusal.stderr.splitlines()[-1]
    assert f" is {values[0]}, {values[1]}" in refusal.stderr
    path.write_text("".join([f"ranks,algorithm,size_bytes,time_us,{column}\n", rows[0], "2,ring,8,,\n"]))
    alone = bench(*words, path)
    assert alone.exit_code == 0 and "UserWarning" not in alone.stderr


def test_the_grade_and_the_placement_of_fitted_times_are_told(tmp_path):
    words = ("resnet50", "--compute", "100ms", "-n", 4, "-a", "ring", "-m", tmp_path / "machine.json")
    for grade, told in (("not reliable", True), ("good", False)):
        ring = hand_model("ring", sizes=(8, 1 << 26), prices=(20e-6, 8e-10), grade=grade, placement="page")
        write_machine(Machine((ring,)), tmp_path / "machine.json")
        text = printed(*words)
        assert f"times: {grade}" in text and "vectors: page" in text
        assert text.rstrip().endswith(f"(modelled; grade of the fitted times: {grade}).") == told
        found = facts(*words)
        assert (found["grade"], found["placement"]) == (grade, "page")
    priced = facts("resnet50", "--compute", "100ms", "-n", 4, "-a", "ring", *PRICES)
    assert priced["grade"] is None and priced["placement"] is None
