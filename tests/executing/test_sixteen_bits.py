"""16-bit arithmetic by integer code has the bits of numpy and ml_dtypes."""

from importlib.util import find_spec

import numpy as np
import pytest
from interpreters import interpreters

ml_dtypes = pytest.importorskip("ml_dtypes")
pytestmark = [
    pytest.mark.skipif(not find_spec("numba"), reason="numba is not installed here"),
    pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI"),
]

TYPES = {"halves": np.dtype("float16"), "brains": np.dtype(ml_dtypes.bfloat16)}
UFUNCS = {"add": np.add, "multiply": np.multiply, "max": np.maximum, "min": np.minimum}
ALL = np.arange(1 << 16, dtype=np.uint16)
# zero, subnormals, the least normal, one, the greatest number, infinity, what is no number; and their negatives
SPECIAL = {
    "halves": [0, 1, 0x3FF, 0x400, 0x3C00, 0x7BFF, 0x7C00, 0x7C01, 0x7E01, 0x7FFF],
    "brains": [0, 1, 0x7F, 0x80, 0x3F80, 0x7F7F, 0x7F80, 0x7F81, 0x7FC1, 0x7FFF],
}


def others(kind: str):
    """Vectors to combine all 65536 bit patterns with."""
    for bits in SPECIAL[kind]:
        for sign in (0, 0x8000):
            yield np.full(ALL.size, bits | sign, np.uint16)
    generator = np.random.default_rng(15)
    for _ in range(10):
        yield generator.permutation(ALL)


def same(dtype: np.dtype, total: np.ndarray, correct: np.ndarray) -> bool:
    """Whether the bits are alike, but for those of a NaN."""
    with np.errstate(invalid="ignore"):
        return bool(np.all((total == correct) | np.isnan(total.view(dtype)) & np.isnan(correct.view(dtype))))


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", UFUNCS)
def test_all_elements_with_many_others_give_the_bits_of_the_ufunc(kind, name):
    from allreduce_bench.executing import sixteen_bits

    dtype, combine = TYPES[kind], getattr(sixteen_bits, f"{name}_{kind}")
    for other in others(kind):
        with np.errstate(all="ignore"):
            correct = UFUNCS[name](ALL.view(dtype), other.view(dtype)).view(np.uint16)
        total = other.copy()
        combine(ALL, total)
        assert same(dtype, total, correct)


@pytest.mark.parametrize("kind", TYPES)
def test_all_elements_divided_by_numbers_of_ranks_give_the_bits_of_numpy(kind):
    from allreduce_bench.executing import sixteen_bits

    dtype, divide = TYPES[kind], getattr(sixteen_bits, f"divide_{kind}")
    for ranks in (1, 2, 3, 5, 7, 48, 255, 257, 1000, 4097):
        with np.errstate(all="ignore"):
            correct = np.divide(ALL.view(dtype), ranks).view(np.uint16)
        total = ALL.copy()
        divide(total, np.array([ranks]).astype(dtype).view(np.uint16)[0])
        assert same(dtype, total, correct)
