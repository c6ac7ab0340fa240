"""Rendering: values are replaced and nothing else, and no value becomes anything but a value."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hostile import HOSTILE
from job_scripts import NAMES, make_program, run_script
from places import JOBS

from allreduce_bench.slurm.scripts import ScriptError, Template, check_job_name

RENDERED = """\
#!/bin/bash
# A small one.
#SBATCH --job-name=small
#SBATCH --nodes=8   # two
#SBATCH --comment="it's # ours"
#SBATCH --partition=batch
#SBATCH --hold

module load gcc/13 || exit
module load openmpi || exit
export UCX_TLS='rc self'
RUN='/a b/c'   # where to, e.g. {this}
ONLY=${ONLY:-}
WHAT=(--sizes 8 -a 'my ring')   # what

PROGRAM=$RUN
exec echo "$RUN" "${WHAT[@]}"
"""
SMALL = """\
#!/bin/bash
# A small one.
#SBATCH --job-name=small
#SBATCH --nodes=2   # two
#SBATCH --exclusive
#SBATCH --comment="a b"

# module load openmpi
# export UCX_TLS=rc
RUN=${RUN:-$HOME/${A:-${B:-c}}}   # where to, e.g. {this}
ONLY=${ONLY:-}
WHAT=(--sizes 8,64K
      --launches 5)   # what

PROGRAM=$RUN
exec echo "$RUN" "${WHAT[@]}"
"""
TEMPLATE = Template("small", SMALL)
FREE = [name for name in HOSTILE if not re.search(r"[\x00-\x1f\udc80-\udcff]", name)]  # what a text in a line can be
SWEEP = JOBS / "sweep.sbatch"


def refusal(render, *arguments, **values) -> str:
    """What is said where a value is refused; it is one line."""
    with pytest.raises(ScriptError) as refused:
        render(*arguments, **values)
    assert len(str(refused.value).splitlines()) == 1
    return str(refused.value)


def accepted(render, **values) -> str | None:
    """The script with these values; None: refused, in one line."""
    try:
        return render(**values)
    except ScriptError as refused:
        assert len(str(refused).splitlines()) == 1
        return None


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


def test_what_a_template_has():
    assert TEMPLATE.directives == {"job-name": "small", "nodes": "2", "exclusive": "", "comment": "a b"}
    assert TEMPLATE.assignments == ("RUN", "ONLY", "WHAT")


@pytest.mark.parametrize("name", NAMES)
def test_rendering_nothing_changes_nothing(name):
    text = (JOBS / f"{name}.sbatch").read_text()
    assert Template(name, text).render() == text and TEMPLATE.render() == SMALL


def test_values_are_replaced_and_nothing_else():
    text = TEMPLATE.render(
        directives={"nodes": 8, "comment": "it's # ours", "exclusive": None, "partition": "batch", "hold": ""},
        assignments={"RUN": "/a b/c", "WHAT": ["--sizes", "8", "-a", "my ring"]},
        modules=["gcc/13", "openmpi"],
        exports={"UCX_TLS": "rc self"},
    )
    assert text == RENDERED


def test_what_the_template_has_no_place_for_is_refused_naming_what_it_has():
    assert (
        refusal(TEMPLATE.render, assignments={"PROGRAM": "x"})
        == "small: has no variable 'PROGRAM' to set; valid: RUN, ONLY, WHAT"
    )
    bare = Template("bare", "#!/bin/sh\ntrue\n")
    assert "valid: none" in refusal(bare.render, assignments={"RUN": "x"})
    assert "no line '# module load NAME'" in refusal(bare.render, modules=["x"])
    assert "no line '# export NAME=VALUE'" in refusal(bare.render, exports={"X": "x"})
    assert "no #SBATCH line" in refusal(bare.render, directives={"nodes": 1})


def test_a_list_is_no_text_and_a_text_no_list():
    words, text = (
        refusal(TEMPLATE.render, assignments={name: value}) for name, value in (("WHAT", "a b"), ("ONLY", ["8r"]))
    )
    assert words == "WHAT: expected a list of words, found 'a b'"
    assert "ONLY: expected one text" in text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("#SBATCH --nodes=1\n", re.escape("first line")),
        ("#!/bin/sh\n#SBATCH -N 2\n", re.escape("line 2: found '#SBATCH -N 2', expected #SBATCH --name=value")),
        ("#!/bin/sh\n#SBATCH --nodes 2\n", re.escape("line 2: found")),
        ("#!/bin/sh\n#SBATCH --nodes=2 --qos=x\n", re.escape("line 2: found")),
        ("#!/bin/sh\n#SBATCH --nodes=\n", re.escape("line 2: found")),
        ('#!/bin/sh\n#SBATCH --comment="open\n', re.escape("line 2: found")),
        ("#!/bin/sh\n#SBATCH --comment=a\\ b\n", re.escape("line 2: found")),
        ("#!/bin/sh\ntrue\n\n#SBATCH --nodes=2\n", "line 4: sbatch ignores"),
    ],
)
def test_a_broken_template_is_refused_naming_the_line(text, words):
    assert re.search(words, refusal(Template, "mine", text))


def test_a_file_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "x").write_bytes(b"#!/bin/sh\n\xff\n")
    assert "not UTF-8 text" in refusal(Template.read, tmp_path / "x")


@pytest.mark.parametrize("name", ["allreduce", "8n", "a.b_c+d=e@f-8n", "x" * 100])
def test_good_job_names(name):
    assert check_job_name(name) == name


def test_other_job_names_are_refused():
    for name in [*(name for name in HOSTILE if name != "A=b"), "", ".", "..", "a/b", "x" * 101, "naïve", "a\n"]:
        assert "letters, digits and ._+=@-" in refusal(check_job_name, name)
        refusal(TEMPLATE.render, directives={"job-name": name})


def test_names_of_directives_modules_and_variables_are_names():
    for name in [*HOSTILE, "", "N", "n_", "nodes=2"]:
        refusal(TEMPLATE.render, directives={name: "1"})
        refusal(TEMPLATE.render, assignments={name: "1"})
        if not re.fullmatch(r"\w+|A=b|nodes=2", name, re.ASCII):
            refusal(TEMPLATE.render, modules=[name])
        if not re.fullmatch(r"\w+", name, re.ASCII):
            refusal(TEMPLATE.render, exports={name: "1"})


@pytest.mark.parametrize("name", ["BASH_ENV", "ENV", "PS4"])
def test_variables_that_shells_execute_are_refused(name):
    assert f"variable '{name}'" in refusal(TEMPLATE.render, exports={name: "$(touch hacked)"})
    assert f"export {name}S=1\n" in TEMPLATE.render(exports={f"{name}S": "1"})


def test_control_characters_are_refused_everywhere():
    for value in (name for name in HOSTILE if name not in FREE):
        refusal(TEMPLATE.render, directives={"comment": value})
        refusal(TEMPLATE.render, assignments={"RUN": value})
        refusal(TEMPLATE.render, assignments={"WHAT": ["--sizes", value]})
        refusal(TEMPLATE.render, exports={"X": value})


def test_most_names_are_not_refused_but_quoted():
    assert len(HOSTILE) >= 50 and len(FREE) >= 45


@pytest.mark.parametrize("value", FREE)
def test_a_value_arrives_as_it_was_and_nothing_of_it_is_executed(value, tmp_path):
    """In every place at once where a value can stand, the path of the program included."""
    folder, log, venv = tmp_path / "empty", tmp_path, f"{tmp_path}/venvs/{value}"
    folder.mkdir()
    make_program(venv, log)
    make_program(f"{tmp_path}/modules", log)
    texts = {name: value for name in ("LAUNCHER", "LAUNCHER_ARGS", "INTERFACE", "ONLY")}
    text = Template.read(SWEEP).render(
        directives={"comment": value} if accepted(TEMPLATE.render, directives={"comment": value}) else {},
        assignments={**texts, "RUN": f"{tmp_path}/{value}", "VENV": venv, "WHAT": [value, f"-x{value}"]},
        modules=["openmpi/4"],
        exports={"UCX_TLS": value, "LD_LIBRARY_PATH": value},
    )
    (tmp_path / "8n.sbatch").write_text(text, encoding="utf-8")
    path = f"{tmp_path}/modules/bin:{os.environ['PATH']}"
    result = run_script(tmp_path / "8n.sbatch", str(folder), log, PATH=path, UCX_TLS="other", RUN="other")
    assert result.calls == [
        ["module", "load", "openmpi/4"],
        ["allreduce-bench", "run", "--ranks-per-node", "4", "--launcher", value, "--launcher-args", value]
        + ["--interface", value, value, f"-x{value}"]
        + ["--only", value, "--resume", "--requeue", "--output", f"{tmp_path}/{value}"],
    ]
    assert result.environ["UCX_TLS"] == value and result.complaint == ""
    assert os.listdir(folder) == []


def test_an_empty_list_adds_no_word(tmp_path):
    make_program(f"{tmp_path}/.venv", tmp_path)
    (tmp_path / "job").write_text(Template.read(SWEEP).render(assignments={"WHAT": []}))
    (call,) = run_script(tmp_path / "job", str(tmp_path), tmp_path).calls
    assert call[call.index("--interface") : call.index("--only")] == ["--interface", ""]


def test_a_program_whose_path_looks_like_an_option_is_no_option(tmp_path):
    make_program(f"{tmp_path}/-a", tmp_path)
    (tmp_path / "job").write_text(Template.read(SWEEP).render(assignments={"VENV": "-a"}))
    assert run_script(tmp_path / "job", str(tmp_path), tmp_path).calls[0][:2] == ["allreduce-bench", "run"]


def test_a_module_that_is_not_there_ends_the_job(tmp_path):
    make_program(f"{tmp_path}/.venv", tmp_path)
    (tmp_path / "job").write_text(Template.read(SWEEP).render(modules=["openmpi"]))
    result = run_script(tmp_path / "job", str(tmp_path), tmp_path)
    assert result.status != 0 and not result.calls and "module" in result.complaint


@pytest.mark.parametrize("name", ["comment", "partition"])  # in the template, and new in it
def test_a_value_of_a_directive_is_one_argument_of_sbatch(name):
    for value in HOSTILE:
        text = accepted(TEMPLATE.render, directives={name: value})
        lines = [line for line in (text or "").split("\n") if line.startswith("#SBATCH")]
        if text is None:
            assert value not in FREE or '"' in value or "\\" in value
        else:
            others = {key: said for key, said in TEMPLATE.directives.items() if key != name}
            known = [f"--{key}" + (f"={said}" if said else "") for key, said in others.items()]
            assert sorted(map(as_sbatch_reads, lines)) == sorted([*known, f"--{name}={value}"])


@pytest.mark.skipif(not shutil.which("sbatch"), reason="needs sbatch (slurm-client), though no cluster")
def test_sbatch_itself_reads_them_so(tmp_path):
    """It says what it found in a script before it looks for a controller; there is none to be found."""
    (tmp_path / "slurm.conf").write_text(
        "ClusterName=none\nSlurmctldHost=localhost(127.0.0.1)\nSlurmctldPort=1\nNodeName=n1\n"
    )
    values = [name for name in FREE if '"' not in name and "\\" not in name]
    rendered = [TEMPLATE.render(directives={"comment": value}) for value in values]
    lines = [re.findall(r"^#SBATCH --comment=.*", text, re.MULTILINE)[0] for text in rendered]
    script = tmp_path / "job"
    script.write_text("\n".join(["#!/bin/bash", *lines, "true", ""]), encoding="utf-8")
    assert found_by_sbatch(script, tmp_path / "slurm.conf") == [f"--comment={value}" for value in values]


def found_by_sbatch(script: Path, conf: Path) -> list[str]:
    """The arguments that sbatch finds in a script."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("SBATCH_", "SLURM_"))}
    with subprocess.Popen(
        ["sbatch", "-vvv", "--test-only", str(script)],
        env={**clean, "SLURM_CONF": str(conf)},
        stderr=subprocess.PIPE,
    ) as sbatch:
        said = []
        for line in sbatch.stderr or ():
            said.append(line.decode().removesuffix("\n"))
            if "end of defined options" in said[-1]:
                break
        sbatch.kill()  # or it would ask for a controller again and again
    return [match[1] for match in (re.search(r'Found in script, argument "(.*)"$', line) for line in said) if match]
