"""Three example machines, and which algorithm wins where on each by the declared costs: nothing of it is measured."""

from collections.abc import Sequence
from typing import NamedTuple

from ...models.crossings import winner_map
from ...models.machine import Prices, bare_machine
from ...models.prediction import BEST, Layout, competing_models
from ...units import format_rate, format_time

SIZES = tuple(8 << power for power in range(0, 28, 3))  # 8 B to 1 GiB


class ExampleMachine(NamedTuple):
    """The prices of a kind of machine, round numbers within what such machines have."""

    title: str
    between: Prices
    ranks: tuple[int, ...]
    ranks_per_node: int | None = None
    within: Prices | None = None

    @property
    def prices_text(self) -> str:
        """Its prices as a reader knows them: `a message 5.00 us, 100 Gbit/s`."""
        text = f"a message {format_time(self.between.alpha_s)}, {format_rate(1 / self.between.beta_s_per_byte)}"
        if self.within is None:
            return text
        inside = f"a message {format_time(self.within.alpha_s)}, {format_rate(1 / self.within.beta_s_per_byte)}"
        outside = f"between nodes, whose ranks share the port: {text}"
        return f"{outside}; within a node of {self.ranks_per_node} ranks: {inside}"


class WinnerMap(NamedTuple):
    """The fastest algorithm of an example machine: `winners[row][column]` at `ranks[row]` and `sizes[column]`."""

    machine: ExampleMachine
    ranks: tuple[int, ...]
    sizes: tuple[int, ...]  # bytes
    winners: tuple[tuple[str | None, ...], ...]

    def cells_of(self, algorithm: str) -> int:
        """In how many cells `algorithm` is the fastest."""
        return sum(row.count(algorithm) for row in self.winners)


def _gbit(rate: float) -> float:
    """Seconds per byte at `rate` Gbit/s."""
    return 8 / (rate * 1e9)


RANKS = tuple(sorted([1 << power for power in range(1, 9)] + [3 << power for power in range(8)]))  # 2 to 384
MACHINES = (
    ExampleMachine("one server, ranks in shared memory", Prices(0.5e-6, _gbit(80)), RANKS[:12]),
    ExampleMachine("servers on Ethernet, one rank each", Prices(30e-6, _gbit(10)), RANKS),
    ExampleMachine(
        "a cluster of nodes with eight ranks each",
        Prices(5e-6, _gbit(100)),
        tuple(8 * nodes for nodes in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128)),
        ranks_per_node=8,
        within=Prices(1e-6, _gbit(400)),
    ),
)


def winners_on(machine: ExampleMachine, sizes: Sequence[int] = SIZES) -> WinnerMap:
    """The fastest of all built-in algorithms at the ranks of `machine` and at `sizes` (bytes).

    Trees are cut into the segments with which they are fastest.
    """
    bare = bare_machine(*machine.between, within=machine.within)
    port = 1 / machine.between.beta_s_per_byte if machine.ranks_per_node else None
    (group,) = competing_models(bare, layout=Layout(machine.ranks_per_node, BEST, nic_bytes_per_s=port))
    winners = winner_map(group, machine.ranks, sizes)
    return WinnerMap(machine, machine.ranks, tuple(sizes), tuple(map(tuple, winners)))
