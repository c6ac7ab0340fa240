"""The cells of a plan: its choices joined with what its algorithms declare. Needs no MPI."""

from .algorithms import DEFAULT_SEGMENT_NBYTES, Algorithm, builtin, find
from .plan import Cell, Launch, Plan
from .runfolder import RunFolder


def find_planned(plan: Plan) -> dict[str, Algorithm]:
    """The plan's algorithms by name, its users' files included. Raises AlgorithmError."""
    return find([*plan.files, *(name for name in plan.algorithms if name in builtin())])


def planned_cells(plan: Plan, algorithms: dict[str, Algorithm], launch: Launch) -> list[Cell]:
    """Every cell of `launch`, in the shuffled order in which it is measured."""
    segment_nbytes = plan.segment_nbytes or DEFAULT_SEGMENT_NBYTES
    return plan.cells(launch, {name for name in algorithms if algorithms[name].segmented}, segment_nbytes)


def pending(folder: RunFolder, plan: Plan) -> list[Launch]:
    """The planned launches that have cells left."""
    algorithms = find_planned(plan)
    return [
        launch
        for launch in plan.planned_launches()
        if {cell.key for cell in planned_cells(plan, algorithms, launch)} - folder.finished(launch.name)
    ]
