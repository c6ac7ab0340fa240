"""The script of a job: whole by itself, and no value in it becomes anything but a value."""

import os
import re
from pathlib import Path

import pytest
from hostile import HOSTILE
from job_scripts import Outcome, make_program, run_script

from allreduce_bench.slurm.script import ScriptError, make_script

WHOLE = """\
#!/bin/bash
# Made by: allreduce-bench submit -o 'a b\\nc'
#SBATCH --job-name=allreduce-2n
#SBATCH --nodes=2
#SBATCH --exclusive
#SBATCH --comment="it's # ours"

# The warning before the limit is for the program, and must not end the job before it listens.
trap '' USR1
module load gcc/13 || exit
export UCX_TLS='rc self'
[[ -x /a/venv/bin/allreduce-bench ]] || {
    echo 'error: no program /a/venv/bin/allreduce-bench; submit from an environment that the nodes see, or set venv in the file of the system' >&2
    exit 2
}
[[ -f '/a b/run.json' ]] || {
    echo 'error: no run /a b/run.json; it was there when this job was submitted' >&2
    exit 2
}
exec -- /a/venv/bin/allreduce-bench run --timeout '9 s' '--output=/a b' --only=4r"-$SLURM_ARRAY_TASK_ID"
"""  # noqa: E501
FREE = [name for name in HOSTILE if not re.search(r"[\x00-\x1f\udc80-\udcff]", name)]  # what a text in a line can be


def script(**values) -> str:
    """A script that differs from a plain one in these values."""
    plain = {"made_by": ["allreduce-bench", "submit"], "directives": {"nodes": 2}, "command": ["/x/allreduce-bench"]}
    return make_script(**(plain | values))


def refusal(**values) -> str:
    """What is said where a value is refused; it is one line."""
    with pytest.raises(ScriptError) as refused:
        script(**values)
    assert len(str(refused.value).splitlines()) == 1
    return str(refused.value)


def with_comment(value: str) -> str | None:
    """The script with this value of a directive; None: refused, in one line."""
    try:
        return script(directives={"nodes": 2, "comment": value})
    except ScriptError as refused:
        assert len(str(refused).splitlines()) == 1
        return None


def run(tmp_path: Path, text: str, **variables: str) -> Outcome:
    (tmp_path / "job").write_text(text, encoding="utf-8")
    return run_script(tmp_path / "job", str(tmp_path), tmp_path, **variables)


def as_sbatch_reads(line: str) -> str:
    """The argument that sbatch finds behind #SBATCH, by the rules of its own reader of such lines (Slurm 22.05)."""
    argument, quote, escaped = "", "", False
    for character in line.removeprefix("#SBATCH").lstrip():
        if escaped:
            escaped, argument = False, argument + character
        elif character == "\\":
            escaped = True
        elif quote:
            quote, argument = ("", argument) if character == quote else (quote, argument + character)
        elif character in "\"'":
            quote = character
        elif character.isspace() or character == "#":
            break
        else:
            argument += character
    assert not quote, line
    return argument


def test_a_whole_script():
    assert (
        make_script(
            made_by=["allreduce-bench", "submit", "-o", "a b\nc"],
            directives={"job-name": "allreduce-2n", "nodes": 2, "exclusive": "", "comment": "it's # ours", "qos": None},
            command=["/a/venv/bin/allreduce-bench", "run", "--timeout", "9 s", "--output=/a b", "--only=4r"],
            modules=["gcc/13"],
            exports={"UCX_TLS": "rc self"},
            run_json=Path("/a b/run.json"),
            is_array=True,
        )
        == WHOLE
    )


def test_names_of_directives_modules_and_variables_are_names():
    for name in [*HOSTILE, "", "N", "n_", "nodes=2"]:
        refusal(directives={name: "1"})
        if not re.fullmatch(r"\w+|A=b|nodes=2", name, re.ASCII):
            refusal(modules=[name])
        if not re.fullmatch(r"\w+", name, re.ASCII):
            refusal(exports={name: "1"})


@pytest.mark.parametrize("name", ["BASH_ENV", "ENV", "PS4"])
def test_variables_that_shells_execute_are_refused(name):
    assert f"variable '{name}'" in refusal(exports={name: "$(touch hacked)"})
    assert f"export {name}S=1\n" in script(exports={f"{name}S": "1"})


def test_control_characters_are_refused_everywhere_but_in_the_comment():
    for value in (name for name in HOSTILE if name not in FREE):
        refusal(directives={"comment": value})
        refusal(command=["/x/allreduce-bench", value])
        refusal(command=[value])
        refusal(run_json=Path(value.replace("\0", "\1")))
        refusal(exports={"X": value})
        assert len(script(made_by=[value]).splitlines()) == len(script().splitlines())


@pytest.mark.parametrize("value", FREE)
def test_a_value_arrives_as_it_was_and_nothing_of_it_is_executed(value, tmp_path):
    """In every place at once where a value can stand, the path of the program included."""
    folder, venv, sweep = tmp_path / "empty", f"{tmp_path}/venvs/{value}", Path(f"{tmp_path}/sweeps/{value}")
    folder.mkdir()
    sweep.mkdir(parents=True)
    (sweep / "run.json").touch()
    make_program(venv, tmp_path)
    make_program(f"{tmp_path}/modules", tmp_path)
    text = script(
        made_by=["allreduce-bench", value],
        directives={"comment": value} if with_comment(value) else {},
        command=[f"{venv}/bin/allreduce-bench", "run", value, f"-x{value}", f"--output={sweep}", value],
        modules=["openmpi/4"],
        exports={"UCX_TLS": value, "LD_LIBRARY_PATH": value},
        run_json=sweep / "run.json",
        is_array=True,
    )
    (tmp_path / "8n.sbatch").write_text(text, encoding="utf-8")
    said = {"PATH": f"{tmp_path}/modules/bin:{os.environ['PATH']}", "UCX_TLS": "other", "SLURM_ARRAY_TASK_ID": "3"}
    result = run_script(tmp_path / "8n.sbatch", str(folder), tmp_path, **said)
    assert result.calls == [
        ["module", "load", "openmpi/4"],
        ["allreduce-bench", "run", value, f"-x{value}", f"--output={sweep}", f"{value}-3"],
    ]
    assert result.environ["UCX_TLS"] == value and result.complaint == "" and os.listdir(folder) == []
    (sweep / "run.json").unlink()
    result = run_script(tmp_path / "8n.sbatch", str(folder), tmp_path, **said)
    assert result.status == 2 and result.complaint.startswith(f"error: no run {sweep}/run.json; ")
    assert len(result.calls) == 3 and os.listdir(folder) == []


def test_a_program_whose_path_looks_like_an_option_is_no_option(tmp_path):
    make_program(f"{tmp_path}/-a", tmp_path)
    assert run(tmp_path, script(command=["-a/bin/allreduce-bench", "run"])).calls == [["allreduce-bench", "run"]]


def test_a_module_or_a_program_that_is_not_there_ends_the_job(tmp_path):
    result = run(tmp_path, script())
    assert result.status == 2 and result.complaint.startswith("error: no program /x/allreduce-bench; ")
    assert result.complaint.count("\n") == 1
    make_program(f"{tmp_path}/venv", tmp_path)
    result = run(tmp_path, script(command=[f"{tmp_path}/venv/bin/allreduce-bench"], modules=["openmpi"]))
    assert result.status != 0 and not result.calls and "module" in result.complaint


def test_a_value_of_a_directive_is_one_argument_of_sbatch():
    for value in HOSTILE:
        text = with_comment(value)
        if text is None:
            assert value not in FREE or '"' in value or "\\" in value
        else:
            lines = [line for line in text.split("\n") if line.startswith("#SBATCH")]
            assert list(map(as_sbatch_reads, lines)) == ["--nodes=2", f"--comment={value}"]
