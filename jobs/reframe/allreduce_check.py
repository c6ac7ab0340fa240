"""A ReFrame check: bus bandwidth and time of all-reduce algorithms beside the MPI library's own.

Where the partition's launcher starts the ranks (srun, mpirun), those measure; where it is `local`, as in ReFrame's own
default configuration, `allreduce-bench run` starts them itself.
"""

import csv
from pathlib import Path

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe.core.builtins import deferrable, run_after, run_before, sanity_function, variable

SUFFIXES = {"K": 1024, "M": 1024**2, "G": 1024**3}


@rfm.simple_test
class allreduce_check(rfm.RunOnlyRegressionTest):
    """Passes when every cell was measured without a wrong element; each gives two performance variables."""

    descr = "all-reduce algorithms beside the MPI library's own"
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    num_tasks = 2
    keep_files = ["run"]  # the run folder, for `allreduce-bench report`

    #: The program, as the job's shell finds it.
    program = variable(str, value="allreduce-bench")

    #: Names as in `allreduce-bench list`; native is the library's own.
    algorithms = variable(typ.List[str], value=["native", "ring"])

    #: Sizes of the vector in bytes, K, M and G being powers of 1024.
    sizes = variable(typ.List[str], value=["8", "64K", "16M"])

    #: Anything else for `allreduce-bench run`, e.g. --iters,20.
    options = variable(typ.List[str], value=[])

    @run_after("setup")
    def put_the_command_together(self):
        self.executable = f"{self.program} run"
        self.executable_opts = ["--algorithms", ",".join(self.algorithms), "--sizes", ",".join(self.sizes)]
        self.executable_opts += ["--format", "csv", "--output", "run", *self.options]
        if self.job.launcher.registered_name == "local":
            self.executable_opts += ["--ranks", str(self.num_tasks)]

    @run_before("performance")
    def name_the_figures(self):
        self.perf_variables = {}
        for algorithm in self.algorithms:
            for size in self.sizes:
                cell, name = (algorithm, str(nbytes_of(size))), f"{algorithm}_{size}"
                busbw, time = self.figure(cell, "busbw_bytes_per_s", 1e-9), self.figure(cell, "time_s", 1e6)
                self.perf_variables[f"{name}_busbw"] = sn.make_performance_function(busbw, "GB/s")
                self.perf_variables[f"{name}_time"] = sn.make_performance_function(time, "us")

    @sanity_function
    def everything_was_measured_and_right(self):
        return sn.all(
            [
                sn.assert_eq(self.job.exitcode, 0, "the run ended with status {0}, see its standard error"),
                sn.assert_eq(sn.len(self.cells()), len(self.algorithms) * len(self.sizes), "{0} cells, expected {1}"),
                sn.assert_eq(self.complaints(), []),
            ]
        )

    @deferrable
    def complaints(self) -> list:
        """The cells that were not measured, or wrongly, and why."""
        return [
            f"{name} {size_bytes} B: {row['state']}, {row['wrong'] or 'unknown'} wrong elements "
            f"{row['reason']}".rstrip()
            for (name, size_bytes), row in sn.evaluate(self.cells()).items()
            if row["state"] != "done" or row["wrong"] != "0"
        ]

    @deferrable
    def figure(self, cell: tuple, column: str, factor: float) -> float:
        """One value of one cell in the unit that people read."""
        return float(sn.evaluate(self.cells())[cell][column]) * factor

    @deferrable
    def cells(self) -> dict:
        """The rows by competitor and bytes; what a launcher may have printed before the header is passed over."""
        lines = Path(self.stagedir, sn.evaluate(self.stdout)).read_text().splitlines()
        header = next((i for i, line in enumerate(lines) if line.startswith("competitor,")), len(lines))
        return {(row["competitor"], row["size_bytes"]): row for row in csv.DictReader(lines[header:])}


def nbytes_of(size: str) -> int:
    """Bytes of a size such as 8 or 64K."""
    return int(size.rstrip("KMG")) * SUFFIXES.get(size[-1], 1)
