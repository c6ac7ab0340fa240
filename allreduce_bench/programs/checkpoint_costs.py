"""Costs of checkpoints and of losses, from their history, and how often to write one."""

import fcntl
import json
import os
import weakref
from pathlib import Path
from statistics import median
from typing import NamedTuple

from ..models.checkpoint_interval import daly_s, share_lost, young_s
from ..runs.files import kept_handle, read_kept
from ..units import format_long_time, format_time

HISTORY = "history.jsonl"  # in the folder of the checkpoints, a line for each event
MOST_NBYTES = 64 * 2**20


class Loss(NamedTuple):
    """What a lost rank cost until the program was back where it had been."""

    steps: int  # done again
    restart_s: float  # from the last step before the loss to the first one after it
    lost_s: float  # from when the last step was done first, until it was done again


class Costs(NamedTuple):
    """What a history tells."""

    saves_s: tuple[float, ...]
    losses: tuple[Loss, ...]


def read_costs(folder: Path, from_nbytes: int = 0) -> Costs:
    """Return the costs of what was written behind the first `from_nbytes` of a history; none if there is none.

    Lines that are cut off are left out: a rank may be killed while it writes one.
    """
    saves_s: list[float] = []
    losses: list[Loss] = []
    restart_s = 0.0
    try:
        lines = read_kept(folder / HISTORY, MOST_NBYTES)[from_nbytes:].splitlines()
    except OSError:
        lines = []
    for facts in map(_facts, lines):
        if "saved" in facts:
            saves_s.append(float(facts["seconds"]))
        elif "first" in facts:
            restart_s = float(facts["seconds"])
        elif isinstance(facts.get("lost_steps"), int):
            losses.append(Loss(facts["lost_steps"], restart_s, float(facts["seconds"])))
    return Costs(tuple(saves_s), tuple(losses))


def _facts(line: bytes) -> dict:
    try:
        facts = json.loads(line)
        return facts if isinstance(facts, dict) and isinstance(facts.get("seconds"), float | int) else {}
    except (ValueError, RecursionError):
        return {}


class CostsSince:
    """What happens to the checkpoints in a folder from now on, of one program at a time."""

    def __init__(self, folder: Path):
        """Remember where the history ends. Raises ValueError if the program of another `exec` writes here, OSError."""
        self.folder = folder
        handle = kept_handle(folder / HISTORY, os.O_RDWR | os.O_CREAT)
        weakref.finalize(self, os.close, handle)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(
                f"--checkpoint {folder}: another exec has its checkpoints there; give each program a folder of its "
                "own, or wait for its end"
            ) from None
        except OSError:  # a file system without locks
            pass
        self._from_nbytes = os.fstat(handle).st_size

    def sentences(self, mean_time_to_failure_s: float | None) -> list[str]:
        """Return sentences about losses and checkpoints, and how often to write one."""
        costs = read_costs(self.folder, self._from_nbytes)
        told = [_loss_sentence(loss) for loss in costs.losses]
        if not costs.saves_s:
            return told
        save_s, number = median(costs.saves_s), len(costs.saves_s)
        told.append(f"checkpoints written: {number}, each in {format_time(save_s)} (median)")
        if not mean_time_to_failure_s:
            return told
        restart_s = median(loss.restart_s for loss in costs.losses) if costs.losses else 0.0
        daly, young = (of(save_s, mean_time_to_failure_s) for of in (daly_s, young_s))
        share = share_lost(daly, save_s, restart_s, mean_time_to_failure_s)
        failure = format_long_time(mean_time_to_failure_s)
        told.append(
            f"at a mean time to failure of {failure} write a checkpoint every {format_long_time(daly)} (Daly 2006; "
            f"Young 1974: {format_long_time(young)}); {100 * share:.2g} % of the time is then lost"
        )
        return told if costs.losses else [*told, "without the time of a restart: no rank was lost"]


def _loss_sentence(loss: Loss) -> str:
    return (
        f"steps lost: {loss.steps}; the first step after the loss was done {format_time(loss.restart_s)} after the "
        f"last one before it; back where it was after {format_time(loss.lost_s)}"
    )
