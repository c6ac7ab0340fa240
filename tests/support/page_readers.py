"""How others read the output of osu_allreduce and nccl-tests: their expressions, written again in few words."""

import re


def osu_latency(text: str, size_bytes: int) -> float:
    """Microseconds, as ReFrame's hpctestlib reads them (microbenchmarks/mpi/osu.py): sanity first, then the figure."""
    assert re.search(rf"^{size_bytes}", text, re.MULTILINE)
    return float(re.search(rf"^{size_bytes}\s+(\S+)", text, re.MULTILINE)[1])


def osu_version(text: str) -> str:
    """The version in the banner, as Ramble's osu-micro-benchmarks application reads it."""
    return re.search(r"# OSU.*Test (v[0-9.]+)", text)[1]


def osu_datatype(text: str) -> str:
    """The type of the elements, as Ramble's osu-micro-benchmarks application reads it."""
    return re.search(r"# Datatype: (\S+)\.", text)[1]


def superbench(text: str, in_place: bool = False) -> dict[int, dict[str, float]]:
    """Time, algbw and busbw by bytes, as SuperBench reads nccl-tests (cuda_nccl_bw_performance.py, 0.8 and later).

    Between the last line that says out-of-place and the last of out-of-bounds values: the header gives the places of
    the columns, counted from the right; rows begin with a digit.
    """
    lines = text.splitlines()
    first = max(i for i, line in enumerate(lines) if "out-of-place" in line)
    last = max(i for i, line in enumerate(lines) if "Out of bounds values" in line)
    header = next(line for line in lines[first + 1 : last] if "time" in line and "busbw" in line)[1:].split()
    names, rows = ("time", "algbw", "busbw"), {}
    places = {name: -1 - header[::-1].index(name) if in_place else header.index(name) - len(header) for name in names}
    for line in lines[first + 1 : last]:
        fields = line.split()
        if re.match(r"\d+", fields[0]) and int(fields[header.index("size")]):
            size = int(fields[header.index("size")])
            rows[size] = {name: float(fields[place]) for name, place in places.items()}
    return rows


def superbench_best(text: str) -> float:
    """The best bus bandwidth, as early SuperBench (0.2) read it: the sixth column from the right, past the header."""
    lines = text.splitlines()
    first = max(i for i, line in enumerate(lines) if "out-of-place" in line)
    last = max(i for i, line in enumerate(lines) if "Out of bounds values" in line)
    rows = [line.split() for line in lines[first + 4 : last]]
    assert all(len(row) > 10 for row in rows)
    return max(float(row[-6]) for row in rows)


def awk_last_field(text: str, words: str) -> list[str]:
    """The last field of the lines with `words`, as shell scripts do: grep WORDS | awk '{print $NF}'."""
    return [line.split()[-1] for line in text.splitlines() if words in line]
