"""A way to start ranks that makes no sense is refused before anything is started."""

import re

import pytest

from allreduce_bench.runs.start import Start, StartError, parse_variable


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
        ({"launcher": "start {nodes}"}, re.escape("or a template with {ranks} such as 'flux run -n {ranks}'")),
        ({"launcher": "start {ranks"}, "literal brace"),
        ({"launcher_args": "--tag 'x"}, re.escape("launcher arguments '--tag 'x': No closing quotation")),
        ({"remote_shell": " "}, "remote shell"),
        ({"variables": ("A=1", "B=1", "A=2")}, "-x A: given twice"),
        ({"hosts": ("n1", "--evil")}, "'--evil' is not a host"),
    ],
)
def test_what_makes_no_sense_is_refused(choices, words):
    with pytest.raises(StartError) as error:
        Start(**choices)
    assert re.search(words, str(error.value))


def test_a_variable_has_a_name_and_a_value_that_may_be_empty():
    assert [parse_variable(text) for text in ("UCX_TLS=tcp,self", "A=b=c", "A=")] == ["UCX_TLS=tcp,self", "A=b=c", "A="]
    for text in ("UCX_TLS", "=1", "1A=1", "A B=1"):
        with pytest.raises(ValueError, match="expected NAME=VALUE"):
            parse_variable(text)
