"""Command-line forms of the values of a plan; also those of other tools.

What few ranks need is imported late: a rank that this program started is given a plan.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from ..units import parse_counts, parse_duration, parse_rates, parse_share, parse_size, short_size, unknown_word
from .cell import parse_placement
from .competitor import WAYS, split_way
from .dtypes import DTYPES, OPS
from .option import Words, all_digits

AUTO = "auto"  # resolved before the plan is made

# other tools
_ELEMENT_TYPES = {
    **{"float": "float32", "single": "float32", "fp32": "float32", "double": "float64", "fp64": "float64"},
    **{"half": "float16", "fp16": "float16", "bf16": "bfloat16", "int": "int32", "int32_t": "int32"},
    "int64_t": "int64",
}


def parse_names(text: str) -> tuple[str, ...]:
    """Return the competitors of `ring,ring@pipelined,./mine.py`. Raises ValueError for none, one twice, a wrong way."""
    names = tuple(word.strip() for word in text.split(",") if word.strip())
    if not names:
        raise ValueError(f"'{text}': expected names of algorithms")
    _refuse_twice(names)
    for name in names:
        split_way(name)
    return names


def parse_executors(text: str) -> tuple[str, ...]:
    """Return the ways of `sendrecv,pipelined`, or AUTO. Raises ValueError."""
    names = tuple(word.strip() for word in text.split(","))
    if unknown := [name for name in names if name not in (*WAYS, AUTO)]:
        raise ValueError(unknown_word("way", unknown[0], (*WAYS, AUTO)))
    _refuse_twice(names)
    return names


def _refuse_twice(names: Sequence[str]) -> None:
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"'{twice[0]}' is named twice; name it once")


def dtype_named(text: str) -> str:
    """Return our name of an element type of C, MPI or nccl-tests, such as `float` or `MPI_DOUBLE`;
    else `text` itself.
    """
    name = text.strip().lower().removeprefix("mpi_")
    name = _ELEMENT_TYPES.get(name, name)
    return name if name in DTYPES else text


def op_named(text: str) -> str:
    """Return our name of an operation of MPI, such as `MPI_SUM`; else `text` itself."""
    name = text.strip().lower().removeprefix("mpi_")
    return name if name in OPS else text


def _short_duration(time_s: float) -> str:
    return f"{time_s * 1e3:g}ms" if 0 < time_s < 1 else f"{time_s:g}s"


def _exact_duration(time_s: float) -> str:
    return f"{all_digits(time_s)}s"


def _exact_rates(rates_bytes_per_s: tuple[float, ...]) -> str:
    return ",".join(f"{all_digits(rate * 8 / 1e6)}Mbit" for rate in rates_bytes_per_s)


def _late(module: str, name: str) -> Callable[[str], Any]:
    """Return a function of a module of this room that is loaded at first use: few ranks parse such a value."""
    return lambda text: getattr(import_module(f"{__package__}.{module}"), name)(text)


SIZE = Words("size", parse_size, short=short_size)
SIZES = Words("sizes", lambda text: tuple(map(parse_size, text.split(","))))
DTYPE, OP = Words("name", dtype_named), Words("name", op_named)
RANKS = Words("ranks", lambda text: tuple(parse_counts(text)))
NAMES, EXECUTOR_NAMES = Words("names", parse_names), Words("names", parse_executors)
DURATION = Words("duration", parse_duration, _exact_duration, _short_duration)
SHARE = Words("share", parse_share, all_digits, lambda share: f"{share:.0%}")
RATES = Words("rates", parse_rates, _exact_rates)
GROUPS = Words("groups", _late("groups", "parse_groups"))
HOSTS = Words("hosts", _late("hosts", "parse_hosts"))
PLACEMENT = Words("placement", parse_placement)
ORDER = Words("order", _late("rank_order", "parse_order"))
PHASE = Words("duration", _late("injected", "parse_phase"), _exact_duration, _short_duration)
SLOWDOWN = Words("rank:share", _late("injected", "parse_slowdown"))
ARRIVAL = Words("pattern", _late("injected", "parse_arrival"))
LATE_BY = Words("lateness", _late("injected", "parse_late_by"))
