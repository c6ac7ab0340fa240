"""The order of ranks: words, files, and what is no permutation of the hosts that are there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allreduce_bench.runs.plan import Plan, PlanError
from allreduce_bench.runs.rank_order import OrderError, parse_order, ranks_in_order

HOSTS = ("h1", "h1", "h2", "h2", "h3", "h3")


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (("block",), (0, 1, 2, 3, 4, 5)),
        (("cyclic",), (0, 2, 4, 1, 3, 5)),
        (("h3", "h1", "h2"), (4, 5, 0, 1, 2, 3)),
        (("h3", "h1", "h2", "h2", "h1", "h3"), (4, 0, 2, 3, 1, 5)),
    ],
)
def test_which_rank_of_the_launcher_takes_each_place(order, expected):
    assert ranks_in_order(order, HOSTS) == expected


def test_ranks_that_a_launcher_dealt_out_in_turn_are_put_in_blocks():
    assert ranks_in_order(("block",), ("h1", "h2", "h1", "h2", "h1")) == (0, 2, 4, 1, 3)
    assert ranks_in_order(("cyclic",), ("h1", "h1", "h1", "h2")) == (0, 3, 1, 2)


@given(
    st.lists(st.sampled_from(["h1", "h2", "h3"]), min_size=1, max_size=9).flatmap(
        lambda hosts: st.tuples(st.just(hosts), st.permutations(hosts))
    )
)
def test_any_permutation_of_the_hosts_is_kept(hosts_and_order):
    hosts, order = hosts_and_order
    ranks = ranks_in_order(order, hosts)
    assert sorted(ranks) == list(range(len(hosts)))
    assert len(set(order)) == len(order) or [hosts[rank] for rank in ranks] == order


@pytest.mark.parametrize(
    ("order", "said"),
    [
        (("h1", "h9"), "order names host h9.*ranks on h1, h2, h3"),
        (("h1", "h2"), "order leaves.*host h3.*2 ranks"),
        (("h1", "h1", "h2", "h3"), "h2 1 time,.*2 ranks.*host once"),
        (("h1", "h1", "h1", "h2", "h2", "h3"), "h1 3 times.*2 ranks.*host once"),
    ],
)
def test_an_order_that_is_no_permutation_is_refused(order, said):
    with pytest.raises(OrderError, match=said):
        ranks_in_order(order, HOSTS)


def test_words_lists_and_files(tmp_path):
    file = tmp_path / "order.txt"
    file.write_text("# made by hand\n\nn2  # the fast one\nn1\nn3\n")
    assert parse_order(str(file)) == parse_order("n2, n1,n3") == parse_order("n2,n[1,3]") == ("n2", "n1", "n3")
    assert parse_order("cyclic") == ("cyclic",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("n1\n$(touch x)\n", "expected a host"),
        ("n1:2\nn2\n", "expected a host"),
        ("n1\n--host\n", "expected a host"),
        ("# nothing\n", "two hosts"),
        ("n1\n", "two hosts"),
    ],
)
def test_a_file_of_other_lines_is_refused(text, said, tmp_path):
    file = tmp_path / "order.txt"
    file.write_text(text)
    with pytest.raises(OrderError, match=said):
        parse_order(str(file))
    with pytest.raises(OrderError, match="expected block"):
        parse_order(str(tmp_path / "none"))


@pytest.mark.parametrize("beside", [{"groups": "2"}, {"pretend_ranks_per_node": 2}])
def test_an_order_beside_groups_or_made_up_nodes_is_refused(beside):
    with pytest.raises(PlanError, match="--order belongs"):
        Plan(competitors=("ring",), sizes=(8,), ranks=(4,), order=("block",), **beside)
