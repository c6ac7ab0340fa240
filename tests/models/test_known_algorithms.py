"""Names of other people's logs are those of our algorithms, or of a library's own choice."""

import pytest

from allreduce_bench.algorithms import builtin
from allreduce_bench.models.known_algorithms import is_library, readings


@pytest.mark.parametrize("name", ["native", "default", "default_mpich", "default-default", "default_ompi", "auto"])
def test_names_of_what_a_library_chose(name):
    assert is_library(name) and not readings(name, builtin(), ran_here=False)


def test_a_library_before_a_name_is_no_part_of_it():
    assert readings("NCCL_ring", builtin(), ran_here=False) == ("ring",)
    assert readings("nccl-tree", builtin(), ran_here=False) == ("tree", "two_tree")
