"""The schema of run.json: the plan, its command, and the sources of imported and merged times."""

from ..dtypes import OPS
from ..option import meanings_of
from ..plan import LATER_FIELDS, Plan
from ..schema import SCHEMA_VERSION
from ..start import Start
from .build import Format, by_name, fields, flag, items, kept_file, of_type, or_null, schema_id, text, whole

MEANINGS = {
    **meanings_of(Plan),
    **meanings_of(Start),
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
