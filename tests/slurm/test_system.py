"""The files of systems: found by name, read, and refused naming what is wrong."""

import re

import pytest
from hostile import HOSTILE
from places import JOBS

from allreduce_bench.slurm import system as systems
from allreduce_bench.slurm.system import System, SystemFileError, find_system, known_systems, read_system
from allreduce_bench.units import unknown_word

SHIPPED = ("generic", "one_machine", "workstation")
WHOLE = """\
[sbatch]
partition = batch
hint = nomultithread
exclusive =

[site]
modules = gcc/13, openmpi,
  ucx
launcher = flux run -n {ranks}
launcher_args = --mpi=pmix
interface = hsn0
ranks_per_node = 8
venv = /shared/my venv
leave_out = requeue, signal

[variables]
UCX_TLS = rc,self
Path_Like = %(x)s $HOME
"""


@pytest.fixture
def places(tmp_path, monkeypatch):
    """An empty working folder and an empty configuration folder."""
    (tmp_path / "here" / "jobs" / "systems").mkdir(parents=True)
    (tmp_path / "config" / "allreduce-bench" / "systems").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


def refusal(find, *arguments) -> str:
    """What is said; it is one line."""
    with pytest.raises(SystemFileError) as refused:
        find(*arguments)
    assert len(str(refused.value).splitlines()) == 1
    return str(refused.value)


def test_everything_that_a_file_can_say(tmp_path):
    (tmp_path / "big.cfg").write_text(WHOLE)
    system = find_system(str(tmp_path / "big.cfg"))
    assert (system.name, system.path) == ("big", tmp_path / "big.cfg")
    assert system.sbatch == {
        "partition": "batch",
        "hint": "nomultithread",
        "exclusive": "",
        "requeue": None,
        "signal": None,
    }
    assert system.modules == ("gcc/13", "openmpi", "ucx") and system.ranks_per_node == 8
    assert (system.launcher, system.launcher_args) == ("flux run -n {ranks}", "--mpi=pmix")
    assert (system.interface, system.venv) == ("hsn0", "/shared/my venv")
    assert system.variables == {"UCX_TLS": "rc,self", "Path_Like": "%(x)s $HOME"}


def test_an_empty_file_says_nothing_special(tmp_path):
    (tmp_path / "empty.cfg").write_text("")
    system = read_system(tmp_path / "empty.cfg")
    assert system == System("empty", tmp_path / "empty.cfg")


def test_the_folder_of_the_environment_may_be_below_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    (tmp_path / "x.cfg").write_text("[site]\nvenv = ~/venv\n")
    assert read_system(tmp_path / "x.cfg").venv == "/home/me/venv"


def test_the_generic_one_shows_and_explains_every_key():
    lines = (JOBS / "systems" / "generic.cfg").read_text().split("\n")
    for key in systems.SITE:
        (number,) = (number for number, line in enumerate(lines) if line.startswith(f"{key} ="))
        assert lines[number - 1].startswith("# "), key
    assert {f"[{section}]" for section in systems.SECTIONS} <= set(lines)


def test_shipped_ones_are_known(places):
    assert tuple(known_systems()) == SHIPPED


def test_an_own_file_comes_before_one_of_the_user_and_that_before_a_shipped_one(places):
    for place in ("config/allreduce-bench/systems", "here", "here/jobs/systems"):
        (places / place / "generic.cfg").write_text("[site]\nranks_per_node = 3\n")
        assert find_system("generic").path.resolve().parent == places / place
        assert known_systems()["generic"].resolve().parent == places / place
    assert find_system("generic").ranks_per_node == 3


def test_other_programs_files_are_no_systems(places):
    (places / "here" / "setup.cfg").write_text("[metadata]\nname = x\n")
    assert "setup" not in known_systems()
    assert "section 'metadata'; valid: [sbatch], [site], [variables]" in refusal(find_system, "setup")


def test_an_unknown_one_names_the_known_and_the_places(places):
    said = refusal(find_system, "frontier")
    assert said.startswith(unknown_word("system", "frontier", SHIPPED) + "; ")
    assert "jobs/systems, ., " in said and str(places / "config") in said


def test_hostile_names_are_refused_in_one_line(places):
    for name in [*HOSTILE, "", ".", "..", "a\n", "x" * 5000]:
        with pytest.raises((SystemFileError, OSError)) as refused:
            find_system(name)
        assert len(str(refused.value).splitlines()) == 1
    assert not list((places / "here").glob("*hacked*"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[sight]\n", re.escape("unknown section 'sight'; valid: [sbatch], [site], [variables]")),
        ("[DEFAULT]\nmodules = x\n", re.escape("unknown section 'DEFAULT'")),
        ("[site]\nmodule = x\n", re.escape("unknown key 'module'; valid: modules, launcher, ")),
        ("[site]\nranks_per_node = 0\n", "or nothing"),
        ("[site]\nranks_per_node = many\n", re.escape("ranks_per_node 'many': expected")),
        (
            "[sbatch]\nntasks-per-node = 4\n",
            r"\[sbatch\] ntasks-per-node",
        ),
        ("[sbatch]\noutput = x\n", r"\[sbatch\] output"),
        ("[site]\nvenv = a\nvenv = b\n", re.escape("already exists")),
        ("modules = x\n", re.escape("no section headers")),
        ("[site]\nmodules\n", re.escape("parsing errors")),
        ("[site]\nmodules = \udcff\n", re.escape("codec can't decode")),
    ],
)
def test_a_file_that_describes_no_system_is_refused(tmp_path, text, words):
    (tmp_path / "x.cfg").write_text(text, errors="surrogateescape")
    said = refusal(read_system, tmp_path / "x.cfg")
    assert said.startswith(f"{tmp_path}/x.cfg: ") and re.search(words, said)


def test_shipped_ones_of_an_installed_package_are_found(places, monkeypatch):
    monkeypatch.setattr(systems, "__file__", str(places / "lib" / "allreduce_bench" / "slurm" / "system.py"))
    monkeypatch.setattr(systems.sysconfig, "get_path", lambda name: str(places))
    monkeypatch.setattr(systems.site, "getuserbase", lambda: str(places / "user"))
    assert str(places / "share" / "allreduce-bench" / "jobs" / "systems") in refusal(find_system, "generic")
    installed = places / "share" / "allreduce-bench" / "jobs" / "systems"
    installed.mkdir(parents=True)
    (installed / "generic.cfg").touch()
    assert find_system("generic").path == installed / "generic.cfg"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[site]\nmodules = a;b\n", "module 'a;b'"),
        ("[variables]\nA-B = 1\n", "variable 'A-B'"),
        ('[sbatch]\ncomment = "quoted"\n', "double quotes"),
        ("[sbatch]\ntime = soon\n", "[sbatch] time: 'soon' is not a time limit"),
    ],
)
def test_what_has_no_place_in_a_script_is_refused_with_the_name_of_its_file(tmp_path, text, why):
    path = tmp_path / "site.cfg"
    path.write_text(text)
    with pytest.raises(SystemFileError, match=re.escape(str(path))) as caught:
        read_system(path)
    assert why in str(caught.value)
