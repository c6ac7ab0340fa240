"""Words for sbatch behind the --."""

import pytest

from allreduce_bench.slurm.sbatch_words import check_sbatch_words, drop_node_words


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--account=me", "--qos=high"),
        ("-p", "batch", "-A", "my project", "--exclusive"),
        ("--constraint=[rack1|rack2]", "--comment=$(touch hacked); it's", "--time-min=5", "--nodelist=n[1-4]"),
        ("--wait-all-nodes=1", "--ntasks-per-core=1", "--nice"),
    ],
)
def test_options_of_sbatch_pass_unchanged(words):
    assert check_sbatch_words(words) == words


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (["--nodes=3"], "put it before the --: --nodes"),
        (["-N3"], "put it before the --: --nodes"),
        (["-N", "3"], "put it before the --: --nodes"),
        (["--node=3"], "put it before the --: --nodes"),  # sbatch takes shortened names
        (["--qos=a", "-t", "5"], "put it before the --: --time"),
        (["-n8"], "ranks are nodes x ranks per node"),
        (["--ntasks-per-node=3"], "--ranks-per-node"),
        (["-o", "x"], "submit sets it itself"),
        (["--wrap=id"], "submit sets it itself"),
        (["--test-only"], "use --dry-run"),
        (["-Q"], "would not print the job number"),
        (["-Mother"], "submit on a login node of that cluster"),
    ],
)
def test_what_submit_says_itself_is_refused(words, advice):
    with pytest.raises(ValueError, match="after --: ") as refused:
        check_sbatch_words(words)
    assert advice in str(refused.value)


@pytest.mark.parametrize(
    "words",
    [
        ["other.sbatch"],
        ["--qos=high", "other.sbatch"],
        ["-p", "a", "b"],
        ["--"],
        ["-"],
    ],
)
def test_what_sbatch_would_take_for_the_script_is_refused(words):
    with pytest.raises(ValueError, match="--qos=high"):
        check_sbatch_words(words)


@pytest.mark.parametrize(
    "words",
    [
        ["-w", "n1,n2"],
        ["-wn[1-2]"],
        ["--nodelist=n1"],
        ["--nodelist", "n1"],
        ["-F", "file"],
        ["--nodefile=f"],
    ],
)
def test_the_job_that_collects_takes_any_node(words):
    assert check_sbatch_words(words) == tuple(words)
    assert drop_node_words(["-p", "a", *words, "--qos=b"]) == ("-p", "a", "--qos=b")


def test_control_characters_are_refused():
    with pytest.raises(ValueError, match="control character"):
        check_sbatch_words(["--comment=a\nb"])
