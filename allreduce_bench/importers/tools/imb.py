"""Intel MPI Benchmarks: the Allreduce tables of IMB-MPI1, one for each number of processes.

time_s is t_max, the maximum over ranks of each rank's mean over its calls. Each table is a launch, though IMB measures
all of them in one mpirun, in which the other ranks wait: launches of one number of ranks come from several logs.
"""

import re
from typing import Any

from ..lines import (
    NOISE,
    US,
    Log,
    LogLine,
    Place,
    dtype_of,
    is_cut,
    is_whole,
    note_missing_end,
    op_of,
    refuse_nothing,
    shown,
    time_fields,
    warn_of_row,
)
from ..row import Asked, Imported
from . import Importer

TOOL = "Intel MPI Benchmarks"
END = "All processes entering MPI_Finalize"
BANNER = re.compile(r"Intel ?\(R\) MPI Benchmarks? (?:Suite )?V?([0-9][\w.]*(?: Update [0-9]+)?)", re.ASCII)
BENCHMARK = re.compile(r"#\s*Benchmarking\s+(?!#)(\S+)")
PROCESSES = re.compile(r"#[\s(]*#processes = ([0-9]+)")
HEADER = re.compile(r"\s*(#Benchmarking\s+#procs\s+)?#bytes\s+#repetitions\b")
NAMED = re.compile(r"\s*([A-Z]\w*)\s+([0-9]+)(?=\s)")  # the beginning of a row below such a header
HEAD_LINES = {  # what the head of a log says -> how it begins
    "date": "Date",
    "kernel": "System",
    "release": "Release",
    "mpi_standard": "MPI Version",
    "dtype": "MPI_Datatype for reductions",
    "op": "MPI_Op",
}
COLUMNS = ("t_min", "t_max", "t_avg")  # each with its unit: t_max[usec]
FAILURE = re.compile(r"[a-z]+(?:-[a-z]+)+\b")  # instead of a time: `out-of-mem.`, `time-out.`, `int-overflow.`


def recognises(text: str) -> bool:
    """Return whether this is a log of the Intel MPI Benchmarks."""
    return BANNER.search(text) is not None or (BENCHMARK.search(text) is not None and "#repetitions" in text)


def read(log: Log, asked: Asked) -> list[Imported]:
    """Return the rows of the Allreduce tables of a log. Raises LogError: there are none, or a row makes no sense."""
    reader = _Reader()
    for line in log.lines:
        reader.take(line)
    refuse_nothing(log, reader.rows, [name for name in reader.benchmarks if name != "Allreduce"])
    if BANNER.search(log.text):
        note_missing_end(log, reader.rows[-1].line, END)
    return reader.rows


IMPORTER = Importer(
    name="imb",
    title="Intel MPI Benchmarks",
    turn=30,
    recognises=recognises,
    read=read,
    definitions={"imb_t_max": "maximum over ranks of each rank's mean over its calls (Intel MPI Benchmarks, t_max)"},
    allreduce=r"# Benchmarking Allreduce",
)


class _Reader:
    """The rows read so far, line by line."""

    def __init__(self) -> None:
        self.rows = list[Imported]()
        self.benchmarks: list[str] = []
        self.head: dict[str, str] = {}
        self.ranks: int | None = None
        self.columns: list[str] = []  # of the current table; none: no table of an all-reduce
        self.tables = self.width = 0
        self.cold, self.unit_s = False, US

    def take(self, line: LogLine) -> None:
        """Read one line."""
        text = line.text
        if match := BANNER.search(text):
            self.head, self.columns = {"version": match[1]}, []
        elif match := BENCHMARK.search(text):
            self.benchmarks.append(match[1])
            self.ranks, self.columns = None, []
        elif match := PROCESSES.search(text):
            self.ranks = line.place.ranks(match[1])
        elif match := HEADER.match(text):
            self._begin(text.removeprefix(match[1] or ""), line.place)
        elif text.lstrip().startswith("#"):
            self._take_head(text)
        elif self.columns and (match := NAMED.match(text)) and match[1] == "Allreduce":
            self.ranks = line.place.ranks(match[2])
            self._take_row(line._replace(text=text[match.end() :]))
        elif self.columns and is_whole((text.split() or [""])[0]):
            self._take_row(line)

    def _begin(self, header: str, place: Place) -> None:
        """Begin a table. Raises LogError for an unknown unit of time."""
        is_allreduce = self.benchmarks[-1:] == ["Allreduce"]
        columns = [re.sub(r"\[\w*\]$", "", name) for name in header.split()]
        units = re.findall(r"\bt_max\[(\w*)\]", header)
        self.unit_s = place.unit_s(units[0]) if is_allreduce and units else US
        self.columns = columns if is_allreduce and {"#repetitions", *COLUMNS} <= set(columns) else []
        self.tables += bool(self.columns)
        self.width = 0

    def _take_head(self, text: str) -> None:
        name, colon, value = text.lstrip("# ").partition(":")
        for key, begins in HEAD_LINES.items():
            if colon and name.strip() == begins and value.strip():
                self.head[key] = value.strip()
        self.cold = self.cold or bool(re.search(r"-off_cache\s+-?[1-9]", text))

    def _take_row(self, line: LogLine) -> None:
        """Add a row; instead of a time, after the size or the number of repetitions, it may have a reason."""
        words = line.text.split()
        reason_at = next((at for at in (1, 2) if at < len(words) and FAILURE.match(words[at])), 0)
        if reason_at:
            reason = " ".join(words[reason_at:])
            state = "left out" if reason.startswith("time-out") else "skipped"
            fields: dict[str, Any] = {"state": state, "reason": f"the log says: {reason}"[:200]}
        elif NOISE.match(line.text):
            return
        elif len(words) < 1 + self.columns.index("t_avg") or is_cut(line, self.width):
            warn_of_row(line.file, line, f"{shown(line.text)} is no whole row")
            return
        else:
            self.width = len(line.text)
            fields = _times_and_defects(dict(zip(self.columns, words)), self.unit_s, line.place)
        size_bytes = line.place.whole(words[0], "the size")
        self.rows.append(
            Imported(
                file=line.file,
                line=line.number,
                tool=TOOL,
                version=self.head.get("version"),
                launch=f"{line.file}, table {self.tables}",
                ranks=self.ranks,
                size_bytes=size_bytes,
                dtype=dtype_of(self.head.get("dtype", "")),
                op=op_of(self.head.get("op", "MPI_SUM")),  # it has no other
                cache="cold" if self.cold else "warm",
                time_definition="imb_t_max",
                facts=self._facts(),
                **fields,
            )
        )

    def _facts(self) -> dict[str, Any]:
        kernel = " ".join(self.head[key] for key in ("kernel", "release") if key in self.head)
        standard = {"mpi_standard": self.head["mpi_standard"]} if "mpi_standard" in self.head else {}
        known = {"machines": kernel and [{"kernel": kernel}], "date": self.head.get("date"), "mpi": standard}
        return {name: fact for name, fact in known.items() if fact}


def _times_and_defects(values: dict[str, str], unit_s: float, place: Place) -> dict[str, Any]:
    _, most, mean = (place.seconds(values[name], unit_s, name) for name in COLUMNS)
    fields: dict[str, Any] = time_fields(most, f"{values['t_max']} us")
    fields |= {"imb_t_max_s": most, "osu_avg_s": mean}
    fields["iterations"] = place.whole(values["#repetitions"], "#repetitions", 1)
    if "defects" in values:
        defects = place.real(values["defects"], "defects")
        fields |= {"wrong": 0} if defects == 0 else {"state": "wrong", "reason": f"the log says: defects {defects:g}"}
    return fields
