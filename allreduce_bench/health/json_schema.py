"""The JSON Schema of `health --format json`."""

from ..runs.json_schema.build import Format, fields, flag, items, number, of_type, or_null, text, whole
from .judgement import FailingNode, Setting
from .output import SCHEMA

RATIO = or_null(number("its time over the expected one; 1.6 is 60 % longer; null: not known"))
ROBUST_Z = or_null(number("how far above the others it lies, in robust standard deviations; null: not known"))
LINK = fields({"nodes": items(text(), "its two nodes"), "ratio": RATIO, "z": ROBUST_Z})
GROUPS = fields(
    {
        "groups": items(items(text(), "its nodes"), "racks or switches: pairs between them are slower; none: not seen"),
        "alone": items(text(), "nodes that are as far from every group: behind a switch of their own, or slow"),
        "far_ratio": number("median time of pairs between groups over that within them"),
    },
    meaning="groups of nodes, such as racks, by whose pairs nodes and links are judged",
)
TEST = fields(
    {
        "name": text("latency, bandwidth, or what a foreign table calls it"),
        "unit": text("of the values of pairs"),
        "is_rate": flag("whether values are rates, else times"),
        "is_judged": flag("whether slow nodes and links are named"),
        "slow_nodes": items(text(), "nodes that are slower than the others"),
        "slow_group": items(text(), "slower nodes that are too many for single slow ones"),
        "slow_links": items(LINK, "pairs that are slower than their nodes are with others"),
        "per_node": items(fields({"node": text("its name"), "ratio": RATIO, "z": ROBUST_Z}), "every node"),
        "pairs": items(
            fields({"source": text("its name"), "dest": text("its name"), "value": number("in the unit of the test")}),
            "what was measured, by direction",
        ),
    },
    {
        "nearly_slow": items(text(), "nodes that are not named, but slow by little less"),
        "node_groups": GROUPS,
    },
)
HEALTH = fields(
    {
        "schema": text("name and version of this schema", SCHEMA),
        "nodes": items(text(), "names of the nodes"),
        "threshold": number("excess of time from which a node or link is slow; 0.2 is 20 %"),
        "is_sound": flag("whether no node and no link is slow, and no pair failed"),
        "bad_nodes": items(text(), "nodes that are slow, or in too many failed pairs"),
        "verdict": items(text(), "sentences, the summary first"),
        "tests": items(TEST, "each test with what it says"),
        "failing_nodes": items(of_type(FailingNode), "nodes in too many failed pairs, the worst first"),
        "failed_pairs": items(
            fields({"nodes": items(text(), "its two nodes"), "reason": text("why, in words")}), "pairs that failed"
        ),
        "cleared": whole("suspects that were not slow when they were measured alone"),
        "left": whole("pairs that are not measured"),
    },
    {"settings": items(of_type(Setting), "columns between whose values times differ; pairs are judged within each")},
)

FORMATS = (Format(SCHEMA, "what health --format json prints: slow nodes and links", HEALTH),)
