"""A prediction far from the measured numbers of ranks is speculative."""

from dataclasses import replace

from allreduce_bench.models.machine import Machine, bare_machine
from allreduce_bench.models.prediction import predict


def test_far_fewer_ranks_than_were_measured_are_speculative_too():
    ring = next(model for model in bare_machine(1e-6, 1e-10).models if model.algorithm == "ring")
    machine = Machine((replace(ring, ranks=(96, 192)),))
    found = predict(machine, [8, 47, 48, 384, 385], [8], None, ["ring"])
    assert [one.prediction.speculative for one in found] == [True, True, False, False, True]
