"""Energy that counters of this node count: which there are, and what they count between two readings.

The first of these is read that is there and may be read: Cray's pm_counters, of the whole node; RAPL by powercap, the
packages, and memory where it is counted apart (cores and graphics are part of their package, `psys` holds packages);
power meters by hwmon, whose power is sampled and multiplied by time.
"""

from collections.abc import Callable, Sequence
from math import isnan, nan
from time import perf_counter
from typing import NamedTuple

from . import finding, kernel

CRAY = "sys/cray/pm_counters/energy"  # `36777 J 1600000000 us`, ten times a second
ZONES = "sys/class/powercap/intel-rapl:*"  # of AMD, too; intel-rapl-mmio counts the same package again
METERS = ("sys/class/hwmon/hwmon*/power[0-9]*_average", "sys/class/hwmon/hwmon*/device/power[0-9]*_average")
METER, SOCKET = "power_meter", "Grace Power"  # name of the chip, and of its meter that holds all others
MICRO = 1e-6
MOST_W = 10_000.0  # of one counter; more is a counter that ran backwards


class NoCount(Exception):
    """The reason why this node counts no energy, in words, and what to do about it."""

    def __init__(self, reason: str, advice: str = ""):
        super().__init__(reason)
        self.advice = advice


class Counter(NamedTuple):
    """A counter of energy, or a meter of power."""

    name: str  # package-0, package-0/dram
    path: str
    unit: float  # joules, or watts, of one
    most: int = 0  # where it begins again at 0; 0: nowhere
    is_power: bool = False

    def read(self) -> float:
        """Return the value of the counter; NaN: the counter cannot be read."""
        first = (kernel.read(self.path) or "").partition(" ")[0]
        return int(first) if first.isdecimal() else nan

    def spent_j(self, before: float, after: float, elapsed_s: float) -> float:
        """Return the joules between two readings, also if it began again at 0 between them, once."""
        if self.is_power:
            return (before + after) / 2 * self.unit * elapsed_s
        return (after - before + (self.most if after < before else 0)) * self.unit


class Counted(NamedTuple):
    """What the counters of a node counted."""

    counters: tuple[str, ...]  # their names, those without a fault
    elapsed_s: float
    energy_j: float
    faults: dict[str, str]  # counter -> what is wrong with it

    @property
    def power_w(self) -> float:
        """Mean power."""
        return self.energy_j / self.elapsed_s


def find_counters() -> list[Counter]:
    """Return the counters of this node. Raises NoCount."""
    locked = []
    for counters in (_cray(), _powercap(), _power_meters()):
        unread = [counter.path for counter in counters if isnan(counter.read())]
        if counters and not unread:
            return counters
        locked += unread
    if locked:
        raise NoCount(
            f"/{locked[0]} cannot be read", "ask for the right to read it, which many systems give to root alone"
        )
    if "hypervisor" in (kernel.read("proc/cpuinfo") or ""):
        raise NoCount("a virtual machine shows no counters of energy", "measure on a machine of its own")
    sources = "pm_counters, powercap or power_meter"
    raise NoCount(f"the kernel shows none of {sources}", "load the kernel's module for them, such as intel_rapl_msr")


def _cray() -> list[Counter]:
    return [Counter("node", CRAY, 1.0)] if kernel.exists(CRAY) else []


def _powercap() -> list[Counter]:
    names = {path: kernel.read(f"{path}/name") or "" for path in kernel.matching_paths(ZONES)}
    counters = []
    for path, name in names.items():
        package = names.get(path.rpartition(":")[0], "")  # of a zone within it
        if name.startswith("package") or name == "dram":
            most = kernel.read_int(f"{path}/max_energy_range_uj") or 0
            full = f"{package}/{name}" if package else name
            counters.append(Counter(full, f"{path}/energy_uj", MICRO, most))
    return counters


def _power_meters() -> list[Counter]:
    paths = [path for pattern in METERS for path in kernel.matching_paths(pattern)]
    labels = {}
    for path in paths:
        chip = "/".join(path.split("/")[:4])
        if kernel.read(f"{chip}/name") == METER:
            labels[path] = kernel.read(f"{path.removesuffix('_average')}_oem_info") or chip.rpartition("/")[2]
    sockets = {path: label for path, label in labels.items() if label.startswith(SOCKET)}
    return [Counter(label, path, MICRO, is_power=True) for path, label in (sockets or labels).items()]


class Meter:
    """The counters of this node, read by one process."""

    def __init__(self, counters: Sequence[Counter], now: Callable[[], float] = perf_counter):
        """Take `now`, a clock in seconds."""
        self.counters, self._now = list(counters), now
        self._begun_s = self._last_s = 0.0
        self._last: list[float] = []  # what each showed
        self._spent_j: list[float] = []
        self._faults: dict[str, str] = {}

    def start(self) -> None:
        """Begin to count."""
        self._spent_j = [0.0] * len(self.counters)
        self._last = [counter.read() for counter in self.counters]
        self._begun_s = self._last_s = self._now()

    def sample(self) -> None:
        """Read the meters of power, if there are any; do so often, for their power between two samples is the mean."""
        if any(counter.is_power for counter in self.counters):
            self._read()

    def stop(self) -> Counted:
        """Return what was counted since `start`."""
        self._read()
        elapsed_s, spent_j = self._last_s - self._begun_s, dict(zip(self.counters, self._spent_j))
        self._faults = {one.name: fault for one in spent_j if (fault := _fault(spent_j[one], elapsed_s))}
        good = [one for one in spent_j if one.name not in self._faults]
        names, energy_j = tuple(one.name for one in good), sum(spent_j[one] for one in good)
        return Counted(names, elapsed_s, energy_j, self._faults)

    def _read(self) -> None:
        shown, now_s = [counter.read() for counter in self.counters], self._now()
        for i, (counter, before, after) in enumerate(zip(self.counters, self._last, shown)):
            self._spent_j[i] += counter.spent_j(before, after, now_s - self._last_s)
        self._last, self._last_s = shown, now_s

    def leave_out_faulty(self) -> None:
        """Read no more the counters that were at fault."""
        self.counters = [counter for counter in self.counters if counter.name not in self._faults]


def _fault(spent_j: float, elapsed_s: float) -> str:
    """Return what is wrong with a counter; empty: nothing."""
    if isnan(spent_j):
        return "can be read no more"
    if not spent_j:
        return "stood still"
    return "" if 0 < spent_j <= MOST_W * elapsed_s else "ran backwards"


def not_counted(text: str, advice: str) -> dict:
    """Return the finding that energy is not counted, or in part."""
    return finding("energy", "caution", text, "times are not concerned", advice)
