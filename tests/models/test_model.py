"""A prediction far from the measured numbers of ranks is speculative."""

from dataclasses import replace

from allreduce_bench.models.machine import Machine, bare_machine
from allreduce_bench.models.model import without_rates_above
from allreduce_bench.models.prediction import predict


def test_far_fewer_ranks_than_were_measured_are_speculative_too():
    ring = next(model for model in bare_machine(1e-6, 1e-10).models if model.algorithm == "ring")
    machine = Machine((replace(ring, ranks=(96, 192)),))
    found = predict(machine, [8, 47, 48, 384, 385], [8], None, ["ring"])
    assert [one.prediction.speculative for one in found] == [True, True, False, False, True]


def test_a_rate_beyond_a_node_s_link_is_no_price():
    (ring,) = (model for model in bare_machine(1e-6, 1e-10).models if model.algorithm == "ring")  # 10 GB/s
    ring = replace(ring, ranks=(2, 4), ranks_per_node=1)
    slower = without_rates_above(ring, 5e9)
    (beta,) = (one for one in slower.parts[0].parameters if one.name == "beta_s_per_byte")
    assert (beta.identified, beta.low, beta.high) == (False, None, 2e-10)
    assert slower.notes == ("a beta that would be 80 Gbit/s, beyond the 40 Gbit/s of a node's link, is not identified",)
    assert without_rates_above(ring, 9.5e9) == ring  # within the error of a fit
    shared = replace(ring, ranks_per_node=4)  # most of its bytes may stay within nodes
    assert without_rates_above(shared, 5e9) == shared
