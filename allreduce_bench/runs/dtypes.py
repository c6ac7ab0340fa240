"""Element types: their sizes, and caveats before measuring with them; the operations. Standard library only."""

from importlib import import_module

DTYPES = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8, "int32": 4, "int64": 8}  # bytes of an element
OPS = ("sum", "avg", "prod", "max", "min")
PRECISION = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}  # significant bits, the hidden one included
PACKAGE_OF = {"bfloat16": "ml_dtypes"}  # packages that teach numpy the types it lacks
# Ranks up to which sums are exact in any order, with the vectors of `measuring.vectors`; avg: 16 bits hold p up to
# here.
MOST_RANKS = {("float16", "sum"): 16384, ("float16", "avg"): 2048, ("bfloat16", "sum"): 1024, ("bfloat16", "avg"): 256}
MOST_RANKS |= {("float32", "sum"): 15000, ("float32", "avg"): 15000}


class DtypeError(ValueError):
    """An element type that this environment does not have, in words."""


def is_float(dtype: str) -> bool:
    """Return whether results depend on the order of summation."""
    return "float" in dtype


def narrow(dtype: str) -> bool:
    """Return whether it is a 16-bit type, which a processor adds slowly."""
    return DTYPES.get(dtype) == 2


def teach_numpy(dtype: str) -> None:
    """Import the package that teaches numpy `dtype`. Raises DtypeError if it is not installed."""
    if dtype not in PACKAGE_OF:
        return
    try:
        import_module(PACKAGE_OF[dtype])
    except ImportError as error:
        advice = f"install it: pip install 'allreduce-bench[{dtype}]'"
        raise DtypeError(f"dtype {dtype} needs the package {PACKAGE_OF[dtype]} ({error}); {advice}") from error


def arithmetic_note(dtype: str) -> str | None:
    """Return the caveat about sums of 16-bit elements in one sentence; None for wider types."""
    if not narrow(dtype):
        return None
    adder = "by numpy here, by MPI's own code in native" if dtype == "float16" else "by numpy; MPI has no such type"
    return f"16-bit sums on a CPU: the times show the arithmetic more than the network ({dtype} is added {adder})"


def arithmetic_findings(dtype: str) -> list[dict]:
    """Return the finding that labels a launch with 16-bit elements; empty for wider types."""
    if (note := arithmetic_note(dtype)) is None:
        return []
    return [
        {
            "code": "arithmetic",
            "level": "caution",
            "text": note,
            "effect": "a reduction takes ten to a hundred times as long as with float32, longest in native",
            "advice": "to measure the network, use float32 at the same sizes in bytes",
        }
    ]
