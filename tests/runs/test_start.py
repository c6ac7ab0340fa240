"""A way to start ranks that makes no sense is refused before anything is started."""

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
            "unknown launcher 'slurm'; known: auto, openmpi, mpich, intel, srun, or a template",
        ),
        ({"launcher": "start {ranks} {cores}"}, "unknown field {cores}; known: {ranks}, {nodes}"),
        ({"launcher": "start {ranks:3}"}, "unknown field {ranks:3}"),
        ({"launcher": "start {ranks!r}"}, "unknown field {ranks!r}"),
        ({"launcher": "start {ranks"}, "write a literal brace twice"),
        ({"launcher_args": "--tag 'x"}, "launcher arguments '--tag 'x': No closing quotation"),
        ({"remote_shell": " "}, "the remote shell is empty"),
        ({"hosts": ("n1", "--evil")}, "'--evil' is not a host; expected for example n1 or n1:8"),
    ],
)
def test_what_makes_no_sense_is_refused(choices, words):
    with pytest.raises(StartError) as error:
        Start(**choices)
    assert words in str(error.value)
