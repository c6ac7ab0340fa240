"""The table of wings: what folders that the core does not import add to it, each a name and "module:function".

A wing may be missing: what it would add is left out. Its commands stand among the others in `cli`.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

OFFERS = {  # what the core asks for -> where it stands, below the package
    "checkpoint_costs": ("programs.checkpoint_costs:CostsSince",),
    "demo": ("lab.command:measure_lab",),
    "end_of_run": ("stragglers.sentences:sentences_of_run",),
    "hosts": ("lab.lab:add_lab",),
    "log_of_job": ("stragglers.sources:describe_log",),
    "pair_times": ("health.pair_times:read_pair_times",),
    "place_of_run": ("lab.lab:run_in_lab_of",),
    "section": ("stragglers.section:straggler_section",),
    "set_rates": ("lab.command:lab_sentences",),
}


def is_installed(place: str) -> bool:
    """Return whether the folder of a place is there."""
    return find_spec(f"{__package__}.{place.partition('.')[0]}") is not None


def load(place: str) -> Any:
    """Return the object at a place. Raises ImportError or AttributeError if there is none."""
    module, name = place.split(":")
    return getattr(import_module(f"{__package__}.{module}"), name)


def load_offers(name: str) -> list[Any]:
    """Return what the installed wings offer under this name."""
    return [load(place) for place in OFFERS[name] if is_installed(place)]
