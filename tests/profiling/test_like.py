"""What `run --like` takes from a profile, and what it says about the rest."""

import pytest
from click.testing import CliRunner
from has_message import has_message
from made_profiles import counted, profile_file

from allreduce_bench.cli import main
from allreduce_bench.profiling.like import MOST_SIZES, options_like
from allreduce_bench.profiling.profile import ProfileError

OPTIONS = {"dtype": "float32", "op": "sum"}


def decided(path, *asked, **options):
    return options_like(path, {**OPTIONS, **options}, set(asked))


def test_the_dtype_and_operation_with_the_most_bytes_and_their_sizes(tmp_path):
    path = profile_file(
        tmp_path,
        counted(1 << 20, 10, "float64"),
        counted(8, 1000, "float64", in_place=True),
        counted(8, 7, "float64", ranks=2),
        counted(4, 5000),
        counted(16, 3, "derived", "user-defined"),
        counted(None, 2, "object"),
    )
    options, (said, others) = decided(path)
    assert options == {"dtype": "float64", "op": "sum", "sizes": (8, 1 << 20)}
    assert "8 B, 1 MiB, float64 sum: 17% of its calls, 100% of its bytes, on 2, 4 ranks, 98% of them in place" in said
    for other in ("float32 sum (5,000)", "object sum (2)", "derived user-defined (3)"):
        assert other in others


def test_of_many_sizes_those_with_the_most_calls(tmp_path):
    path = profile_file(tmp_path, *(counted(8 * size, size) for size in range(1, MOST_SIZES + 4)))
    options, (_, left_out) = decided(path)
    assert options["sizes"] == tuple(8 * size for size in range(4, MOST_SIZES + 4))
    assert "3 sizes with fewer calls: 24 B, 16 B, 8 B" in left_out


def test_what_is_given_wins(tmp_path):
    path = profile_file(tmp_path, counted(1 << 20, 10, "float64"), counted(12, 100), counted(64, 10, op="max"))
    assert decided(path, "dtype")[0] == {"dtype": "float32", "op": "sum", "sizes": (12,)}
    assert decided(path, "op", op="max")[0] == {"dtype": "float32", "op": "max", "sizes": (64,)}
    assert decided(path, "dtype", dtype="int32")[0] == {"dtype": "int32", "op": "sum", "sizes": (1 << 20,)}
    assert decided(path, "minbytes")[0] == {"dtype": "float64", "op": "sum"}


def test_sizes_that_are_no_whole_elements_are_not_measured(tmp_path):
    path = profile_file(tmp_path, counted(12, 10))
    with pytest.raises(ProfileError) as refused:
        decided(path, "dtype", dtype="float64")
    assert refused.value.code == "profiling.no_whole_elements"


@pytest.mark.parametrize("row", [counted(16, 3, "MPI_BYTE", "bor"), counted(None, 3, "object"), counted(0, 3)])
def test_nothing_that_run_measures(tmp_path, row):
    with pytest.raises(ProfileError) as refused:
        decided(profile_file(tmp_path, row))
    assert refused.value.code == "profiling.nothing_to_measure"


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[1]", b"\xff\x00", b'{"schema": "urn:allreduce-bench:run:4"}', b"1e999"]
)
def test_a_file_that_is_no_profile_is_refused_in_one_line(tmp_path, content):
    path = tmp_path / "profile.json"
    path.write_bytes(content)
    result = CliRunner().invoke(main, ["run", "-n", "2", "--like", str(path)])
    assert result.exit_code == 2 and len(result.output.splitlines()) == 1
    assert has_message(result.output, "profiling.no_profile")


def test_a_missing_file_is_refused(tmp_path):
    result = CliRunner().invoke(main, ["run", "-n", "2", "--like", str(tmp_path / "none.json")])
    assert result.exit_code == 2 and "no such file" in result.output
