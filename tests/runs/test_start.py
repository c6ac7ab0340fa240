"""A way to start ranks that makes no sense is refused before anything is started."""

import re

import pytest

from allreduce_bench.runs.start import UNASKED, Start, StartError


def test_what_is_left_to_the_launcher_is_empty():
    assert Start() == UNASKED and UNASKED.launcher == "auto" and not UNASKED.hosts


@pytest.mark.parametrize("launcher", ["openmpi", "mpich", "srun", "flux run -n {ranks}", "start {{x}} {ranks} {nodes}"])
def test_known_launchers_and_templates(launcher):
    assert Start(launcher=launcher).launcher == launcher


@pytest.mark.parametrize(
    "choices, words",
    [
        (
            {"launcher": "slurm"},
            re.escape("unknown launcher 'slurm'; known: auto, openmpi, mpich, intel, srun, or a template"),
        ),
        ({"launcher": "start {ranks} {cores}"}, re.escape("unknown field {cores}; known: {ranks}, {nodes}")),
        ({"launcher": "start {ranks:3}"}, re.escape("unknown field {ranks:3}")),
        ({"launcher": "start {ranks!r}"}, re.escape("unknown field {ranks!r}")),
        ({"launcher": "start {nodes}"}, re.escape("or a template with {ranks} such as 'flux run -n {ranks}'")),
        ({"launcher": "{ranks} {0}"}, "launcher"),
        ({"launcher": ""}, "launcher"),
        ({"launcher": "start {ranks"}, "literal brace"),
        ({"launcher_args": "--tag 'x"}, re.escape("launcher arguments '--tag 'x': No closing quotation")),
        ({"remote_shell": " "}, "remote shell"),
        ({"hosts": ("n1", "--evil")}, "'--evil' is not a host"),
    ],
)
def test_what_makes_no_sense_is_refused(choices, words):
    with pytest.raises(StartError) as error:
        Start(**choices)
    assert re.search(words, str(error.value))
