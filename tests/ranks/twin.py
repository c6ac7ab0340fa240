"""The ring under another name: whoever finds one of the two faster is wrong. For tests/studies/winners.py."""

from allreduce_bench.algorithms.ring import ring

ring_b = ring._replace(name="ring_b", known_as="", module=__name__)
