"""Options of `workload` that would change nothing beside others: whoever gives one expects an effect."""

from collections.abc import Collection, Mapping
from typing import Any

from ..cli.types import OneLineError

MEASURED_ONLY = ("work", "overlap", "executor", "steps")
COSTS = ("alpha", "bandwidth", "gamma", "alpha_within", "bandwidth_within", "machine", "logs", "nic_bandwidth")
OF_A_MODEL = (
    *("compute", "flop_rate", "backward", "ready_by", "batch", "accumulate", "scale", "sequence", "groups"),
    *("optimizer", "views", "blocking", "overlap"),
)
OF_PACKING = ("framework", "stage", "bucket_cap", "first_cap", "torch", "fusion", "cycle")
OF_DDP = ("stage", "views")
OPTION = {"logs": "log"}


def refuse_unused(given: Collection[str], options: Mapping[str, Any], measure: bool) -> None:
    """Raises OneLineError for the first of the `given` names that changes nothing with these options."""
    if measure:
        _refuse(given, COSTS, "with --measure all-reduces are taken as they were measured; leave it out")
    else:
        _refuse(given, MEASURED_ONLY, "has a meaning with --measure only; add --measure, or leave it out")
        if options["logs"]:
            _refuse(
                given, ("ranks_per_node", "nic_bandwidth"), "the times of a log have their own placement; leave it out"
            )
    if options["blocking"]:
        _refuse(given, ("overlap",), "with --blocking nothing overlaps; leave one of them out")
    if options["calls"]:
        _refuse(
            given,
            (*OF_A_MODEL, *OF_PACKING, *(() if measure else ("dtype",))),
            "recorded calls have their own sizes and gaps; leave it out",
        )
    if options["framework"] != "ddp":
        _refuse(given, OF_DDP, f"is not an option of --framework {options['framework']}; leave it out")
    if options["shapes"] and options["ready_by"] == "flops":
        _refuse(given, ("ready_by",), "the operations of these shapes are unknown; use --ready-by bytes")


def _refuse(given: Collection[str], names: tuple[str, ...], why: str) -> None:
    if wrong := [name for name in names if name in given]:
        raise OneLineError(f"--{OPTION.get(wrong[0], wrong[0]).replace('_', '-')}: {why}")
