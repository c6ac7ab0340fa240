"""Several runs on one page: their times in one frame, with the date and the plan of each."""

import json
from collections.abc import Sequence
from dataclasses import asdict

import pandas as pd

from ..runs.folder import RunFolder
from ..runs.plan import Plan

NOT_OF_A_PLAN = ("seed", "launches", "file_digests")  # runs that differ in these alone are of one plan


def common_frame(folders: Sequence[RunFolder], frames: Sequence[pd.DataFrame]) -> pd.DataFrame | None:
    """The rows of all runs with the columns created, text, and plan, a number for each different plan, the oldest run
    first; None: a single run. Raises RunError.
    """
    if len(folders) < 2:
        return None
    plans: list[dict] = []
    marked = []
    for folder, frame in zip(folders, frames):
        plan = _plan_key(folder.plan())
        if plan not in plans:
            plans.append(plan)
        marked.append(frame.assign(created=str(folder.open().get("created", "")), plan=plans.index(plan)))
    together = pd.concat(marked, ignore_index=True)
    return together.sort_values("created", kind="stable", ignore_index=True)


def _plan_key(plan: Plan) -> dict:
    """What of a plan decides which cells are measured and how, as JSON has it."""
    kept = {name: value for name, value in asdict(plan).items() if name not in NOT_OF_A_PLAN}
    return json.loads(json.dumps(kept, default=str))
