"""run.json: what was planned, by which command, and where imported and merged times are from."""

from ..cell import EXECUTORS
from ..plan import LATER_FIELDS, OPS, Plan
from ..schema import SCHEMA_VERSION
from .build import Format, by_name, fields, flag, items, kept_file, of_type, or_null, schema_id, text, whole

PLAN_MEANINGS = {
    "algorithms": "names of the algorithms; native is the library's MPI_Allreduce",
    "sizes": "lengths of the vectors; unit: bytes",
    "ranks": "numbers of ranks",
    "launches": "launches of each number of ranks; of an imported run the most of one",
    "seed": "decides the order of the cells and the random vectors",
    "files": "absolute paths of own algorithm files",
    "file_digests": "CRC-32 of each of these files when the run was planned; eight hexadecimal digits",
    "segmented": "those of the algorithms that cut vectors into segments",
    "bounded": "those of the algorithms that nobody named: they stop at 64 ranks",
    "segment_nbytes": "length of a segment of pipelined algorithms; unit: bytes",
    "dtype": "type of an element, such as float32; empty: a log does not say",
    "op": f"reduction: {', '.join(OPS)}; empty: a log does not say",
    "iters": "timed calls of a cell in a launch; null: until precision or time stop it",
    "warmups": "calls before the timed ones",
    "precision": "share of the median at which a cell stops",
    "cell_time_s": "most time of the timed calls of a cell in a launch; unit: s",
    "min_time_s": "least time of them; unit: s",
    "pretend_ranks_per_node": "declared ranks of a node; null: nodes are as MPI says",
    "thread_level": "as asked for: auto, or an MPI thread level",
    "sync": "how ranks enter a call together, as asked for",
    "record": "all: entry and exit of every call are kept in launches/*.stamps",
    "back_to_back": "calls of a loop without a common start; 0: none",
    "cache": "state of the cache before a call",
    "placement": "where vectors lie, each cell in each way: page, numpy, or bytes between them; empty: unknown",
    "inputs": "changing: lines of the inputs change between calls; same: consecutive calls have the same input",
    "floors": "whether null, copy and reduce are measured beside the all-reduces",
    "check": "bits: calls are compared bit by bit with each other, too",
    "groups": "groups that all-reduce at the same time: 2, div:8, mod:8; empty: none",
    "compute_s": "phase of work before each call; 0: none; unit: s",
    "work": "spin: as many operations on each rank as take that time on the median rank; sleep: none",
    "inject_slowdown": "ranks whose phase of work takes longer, and by how much: 5:12%",
    "arrival": "patterns by which ranks enter calls late, and absolute paths of traces; each cell is also measured "
    "without",
    "arrival_digests": "SHA-256 of each of these traces when the run was planned",
    "late_by": "how late: such as 1x, times the median of the library's own all-reduce, or 0.001s",
    "link_rate_bytes_per_s": "rate of the links of a node, as the user says; unit: bytes/s",
    "executors": f"the ways to run the steps: {', '.join(EXECUTORS)}",
    "window": "messages posted ahead by pipelined executors; null: none is planned",
    "cuts": "where pipelined executors cut steps; without an entry messages go whole",
    "cut_prices": "prices by which these were chosen; null: they were given, or there are none",
    "start": "how ranks are started, as asked for; empty: left to the launcher",
}
START_MEANINGS = {
    "launcher": "auto, openmpi, mpich, intel, srun, or a template with {ranks}",
    "launcher_args": "further options of the launcher",
    "hosts": "hosts, each with optional :slots",
    "remote_shell": "program that starts the daemons of the MPI on other hosts",
    "ranks_per_node": "ranks of a node",
    "map_by": "mapping of ranks",
    "bind_to": "binding of ranks",
    "interface": "network interface that shall carry messages",
    "virtual_rates_bytes_per_s": "rate of each host's link, of virtual hosts of one machine; empty: real hosts; "
    "unit: bytes/s",
}
MEANINGS = {f"Plan.{name}": meaning for name, meaning in PLAN_MEANINGS.items()}
MEANINGS |= {f"Start.{name}": meaning for name, meaning in START_MEANINGS.items()}
MEANINGS |= {
    "Cut.ranks": "number of ranks",
    "Cut.nbytes": "length of the vector; unit: bytes",
    "Cut.segment_nbytes": "length of a segment; unit: bytes",
    "CutPrices.alpha_s": "of a message; unit: s",
    "CutPrices.beta_s_per_byte": "of a byte moved; unit: s/byte",
    "CutPrices.gamma_s_per_byte": "of a byte reduced; unit: s/byte",
    "CutPrices.source": "nominal, or the path of a machine file",
}
PLAN = {"description": "every choice that decides what is measured", **of_type(Plan, MEANINGS)}
PLAN["required"] = [name for name in PLAN["required"] if name not in LATER_FIELDS]
SAID = fields(
    {},
    {
        "ranks": items(whole("", 1), "numbers of ranks: of all logs, or of each"),
        "nodes": items(whole("", 1), "numbers of nodes: of all logs, or of each"),
        "dtype": text("type of an element"),
        "op": text("reduction", *OPS),
        "in_place": flag("whether the in-place half of nccl-tests was taken"),
        "algorithm": text("what the library's own all-reduce was called"),
        "columns": by_name(text(), "names of columns of a CSV"),
        "where": by_name(text(), "values that rows of a CSV were chosen by"),
    },
    "what options of import filled in",
)
IMPORTED = fields(
    {
        "tool": text("program that wrote the logs"),
        "version": or_null(text("its version")),
        "files": items(
            fields(
                {
                    "name": text("path as it was given"),
                    "sha256": or_null(text("SHA-256 of the content; null: a pipe, which can be read but once")),
                }
            )
        ),
        "said": SAID,
        "system": or_null(text("system that the logs name")),
        "in_place": or_null(flag("whether input and output were one buffer")),
    },
    {
        "launches": items(text(), "names of all launches; absent: of an earlier version of this program"),
        "unread": items(
            fields({"name": text("path of the file"), "reason": text("why it could not be read, in a sentence")}),
            "files of a folder of logs that were left out; absent: none",
        ),
    },
    meaning="where the times of an imported run are from; absent: they were measured here",
)
MERGED = items(
    fields(
        {
            "name": text("name of the run"),
            "sha256": text("SHA-256 over those of its run.json and of the files of its launches"),
            "created": or_null(text("when it was made, ISO 8601")),
            "seed": whole("its seed"),
            "launches": by_name(text(), "its names of launches, and their names here"),
        }
    ),
    "the runs that a merged run was made of; absent: it is none",
)
RUN = kept_file(
    {
        "program": text("program and version that made the run"),
        "created": text("when it was made, ISO 8601 with the zone"),
        "command": items(text(), "command that made it, word by word"),
        "plan": PLAN,
    },
    {"id": text("a random number in hexadecimal digits; absent: layout 3"), "imported": IMPORTED, "merged": MERGED},
)
FORMATS = (
    Format(schema_id("run", SCHEMA_VERSION), "run.json: what was planned, and by which command", RUN, ("run.json",)),
)
