"""Intel MPI Benchmarks: the Allreduce tables of IMB-MPI1, one for each number of processes.

time_s is t_max, the maximum over ranks of each rank's mean over its calls. Each table is a launch, though IMB measures
all of them in one mpirun, in which the other ranks wait: launches of one number of ranks come from several logs.
"""

import re
from collections.abc import Sequence
from typing import Any

from .lines import LogLine, dropped, is_cut
from .row import Imported, LogError
from .values import US, dtype_of, is_number, is_whole, listed, op_of, ranks_of, real, seconds, shown, timed, whole

TOOL = "Intel MPI Benchmarks"
BANNER = re.compile(r"Intel ?\(R\) MPI Benchmarks? (?:Suite )?V?([0-9][\w.]*(?: Update [0-9]+)?)", re.ASCII)
BENCHMARK = re.compile(r"#\s*Benchmarking\s+(\S+)")
PROCESSES = re.compile(r"#\s*#processes = ([0-9]+)")
HEADER = re.compile(r"\s*#bytes\s+#repetitions\b")
SAID = {  # what the head of a log says -> how it begins
    "date": "Date",
    "kernel": "System",
    "release": "Release",
    "mpi_standard": "MPI Version",
    "dtype": "MPI_Datatype for reductions",
    "op": "MPI_Op",
}
COLUMNS = ("t_min[usec]", "t_max[usec]", "t_avg[usec]")


def is_imb(text: str) -> bool:
    """Whether this is a log of the Intel MPI Benchmarks."""
    return BANNER.search(text) is not None or (BENCHMARK.search(text) is not None and "#repetitions" in text)


def read_imb(file: str, lines: Sequence[LogLine]) -> list[Imported]:
    """The rows of the Allreduce tables of a log. Raises LogError: there are none, or a row makes no sense."""
    reader = _Reader(file)
    for line in lines:
        reader.take(line)
    if not reader.rows:
        others = [name for name in dict.fromkeys(reader.benchmarks) if name != "Allreduce"]
        what = f"found: {listed(others)}" if others else "the table is empty"
        raise LogError(f"{file}, line {lines[-1].number}: no row of an Allreduce up to here; {what}")
    return reader.rows


class _Reader:
    """What was said so far, line by line."""

    def __init__(self, file: str):
        self.file, self.rows = file, list[Imported]()
        self.benchmarks: list[str] = []
        self.said: dict[str, str] = {}
        self.ranks: int | None = None
        self.columns: list[str] = []  # of the table that is being read; none: no table of an all-reduce
        self.tables = self.width = 0
        self.cold = False

    def take(self, line: LogLine) -> None:
        """Take in one line."""
        text = line.text
        if match := BANNER.search(text):
            self.said, self.columns = {"version": match[1]}, []
        elif match := BENCHMARK.search(text):
            self.benchmarks.append(match[1])
            self.ranks, self.columns = None, []
        elif match := PROCESSES.search(text):
            self.ranks = ranks_of(match[1], f"{self.file}, line {line.number}")
        elif HEADER.match(text):
            self._begin(text)
        elif text.lstrip().startswith("#"):
            self._head(text)
        elif self.columns and is_whole((text.split() or [""])[0]):
            self._row(line)

    def _begin(self, header: str) -> None:
        ours = self.benchmarks[-1:] == ["Allreduce"]
        self.columns = header.split() if ours and set(COLUMNS) <= set(header.split()) else []
        self.tables += bool(self.columns)
        self.width = 0

    def _head(self, text: str) -> None:
        name, colon, value = text.lstrip("# ").partition(":")
        for key, begins in SAID.items():
            if colon and name.strip() == begins and value.strip():
                self.said[key] = value.strip()
        self.cold = self.cold or bool(re.search(r"-off_cache\s+-?[1-9]", text))

    def _row(self, line: LogLine) -> None:
        words, place = line.text.split(), f"{self.file}, line {line.number}"
        said = next((at for at in (1, 2) if at < len(words) and words[at][0].isalpha() and not is_number(words[at])), 0)
        needed = 1 + self.columns.index("t_avg[usec]")
        if not said and (len(words) < needed or is_cut(line, self.width)):
            dropped(self.file, line, f"{shown(line.text)} is no whole row")
            return
        nbytes = whole(words[0], "the size", place)
        if said:  # in words why there is no time, behind the size or the number of repetitions
            reason = " ".join(words[said:])
            state = "left out" if reason.startswith("time-out") else "skipped"
            fields: dict[str, Any] = {"state": state, "reason": f"the log says: {reason}"[:200]}
        else:
            self.width = len(line.text)
            fields = _times(dict(zip(self.columns, words)), place)
        self.rows.append(Imported(line=line.number, nbytes=nbytes, **self._common(), **fields))

    def _common(self) -> dict[str, Any]:
        kernel = " ".join(self.said[key] for key in ("kernel", "release") if key in self.said)
        facts: dict[str, Any] = {"machines": [{"kernel": kernel}]} if kernel else {}
        if "date" in self.said:
            facts["date"] = self.said["date"]
        if "mpi_standard" in self.said:
            facts["mpi"] = {"mpi_standard": self.said["mpi_standard"]}
        return {
            "file": self.file,
            "tool": TOOL,
            "version": self.said.get("version"),
            "launch": f"{self.file}, table {self.tables}",
            "ranks": self.ranks,
            "dtype": dtype_of(self.said.get("dtype", "")),
            "op": op_of(self.said.get("op", "MPI_SUM")),  # it has no other
            "cache": "cold" if self.cold else "warm",
            "time_definition": "imb_t_max",
            "facts": facts,
        }


def _times(values: dict[str, str], place: str) -> dict[str, Any]:
    least, most, mean = (seconds(values[name], US, name, place) for name in COLUMNS)
    fields: dict[str, Any] = timed(most, f"{values['t_max[usec]']} us")
    fields |= {"shortest_s": least, "imb_t_max_s": most, "osu_avg_s": mean}
    fields["iterations"] = whole(values["#repetitions"], "#repetitions", place, 1)
    if "defects" in values:
        defects = real(values["defects"], "defects", place)
        fields |= {"wrong": 0} if defects == 0 else {"state": "wrong", "reason": f"the log says: defects {defects:g}"}
    return fields
