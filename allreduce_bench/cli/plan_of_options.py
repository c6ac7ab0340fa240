"""Beginning a run, or going on with one: the plan that follows from the options."""

import os
import random
import sys
from datetime import datetime
from pathlib import Path

from ..algorithms import builtin, digest_of, find, find_planned
from ..launching.layout import ranks_of_job
from ..machine.node import cores, host
from ..runs.dtypes import DTYPES, teach_numpy
from ..runs.folder import RunFolder
from ..runs.hosts import read_hostfile
from ..runs.launch_choice import chosen
from ..runs.plan import DEFAULT_SEGMENT_NBYTES, OPS, Plan, PlanError, geometric_sizes
from ..runs.recorder import create_run
from ..runs.rows import RunError
from ..runs.start import Start
from .options import AT_THE_END, LARGEST_SEED, STARTED_NAMES, limits_of

DEFINED = ("sync", "record", "back_to_back", "cache", "floors", "check", "groups")
OPTION_OF = {  # where a field of the plan has another name
    "cell_time_s": "cell_time",
    "min_time_s": "min_time",
    "segment_nbytes": "segment",
    "link_rate_bytes_per_s": "link_rate",
}


def open_run(options: dict, asked: set[str]) -> tuple[RunFolder, Plan]:
    """Begin a run, or go on with one: `options` of the command line, `asked` are those that the user gave.

    Raises RunError, PlanError, DtypeError, StartError and AlgorithmError before anything is written.
    """
    return begin_run(*planned_run(options, asked), options, asked)


def begin_run(folder: RunFolder, plan: Plan, options: dict, asked: set[str]) -> tuple[RunFolder, Plan]:
    """Write the plan of a run that is new; one that is there already is left as it is. Raises as `open_run`.

    Returns the run and the plan that counts: that of another job, where --resume lets several begin the run at once.
    """
    if not folder.path.exists():
        try:
            create_run(folder, plan, ["allreduce-bench", *sys.argv[1:]])
        except RunError:
            if not options["resume"]:
                raise
            return planned_run(options, asked)
    return folder, plan


def planned_run(options: dict, asked: set[str]) -> tuple[RunFolder, Plan]:
    """The folder and the plan of the run that `options` ask for; nothing is written. Raises as `open_run`."""
    from ..evaluation.acceptance import refuse_unplanned  # late: a rank that was started by us opens no run

    if options["resume"] and not options["output"]:
        raise PlanError("--resume needs the folder of the run: -o FOLDER")
    if options["within"] is not None and options["within"] <= 0:
        raise PlanError("--within needs some time, such as 90s or 2m")
    output = options["output"] or _default_output(options)
    if str(output) in OPS:
        raise PlanError(f"-o {output}: -o is the output folder; the operation is --op {output}")
    folder = RunFolder(output)
    if options["resume"] and folder.path.exists():
        if imported := folder.imported():
            raise RunError(f"{output}: imported from {imported['tool']}, so nothing of it is left to be measured")
        stored = folder.plan()
        _refuse_other_plan(folder, stored, _plan(options), asked)
        find_planned(stored.algorithms, stored.files, stored.file_digests)
        refuse_unplanned(limits_of(options), stored)
        chosen(stored, options["only"])
        teach_numpy(stored.dtype)
        return folder, stored
    if folder.path.exists():
        raise RunError(f"{output}: exists already; choose another folder with -o, or go on with it by --resume")
    plan = _plan(options)
    refuse_unplanned(limits_of(options), plan)
    chosen(plan, options["only"])
    teach_numpy(plan.dtype)
    return folder, plan


def refuse_under_launcher(asked: set[str]) -> None:
    """Raises PlanError where the user asked for a way to start ranks that are started already."""
    given = [f"--{name.replace('_', '-')}" for name in STARTED_NAMES if name in asked]
    if given:
        raise PlanError(
            f"{', '.join(given)} under a launcher: the ranks are started already; say it to mpirun or srun instead"
        )
    if given := [f"--{name}" for name in AT_THE_END if name in asked]:
        raise PlanError(
            f"{', '.join(given)} under a launcher: these ranks are one launch of a job that goes on after them; "
            "say it to a run that starts its ranks itself"
        )


def _plan(options: dict) -> Plan:
    asked = options["algorithms"] or ("native", *builtin())
    found = find([word for word in asked if word != "native"], also="native")
    files = [str(Path(word).resolve()) for word in asked if word.endswith(".py")]
    native = ["native"] if "native" in asked else []
    itemsize = DTYPES.get(options["dtype"], 1)
    sizes = options["sizes"] or geometric_sizes(
        options["minbytes"], options["maxbytes"], options["stepfactor"], itemsize
    )
    ranks = options["ranks"] or _default_ranks(options)
    seed = random.randrange(LARGEST_SEED) if options["seed"] is None else options["seed"]
    same = (
        "launches",
        "dtype",
        "op",
        "iters",
        "warmups",
        "precision",
        "pretend_ranks_per_node",
        "thread_level",
        *DEFINED,
    )
    return Plan(
        algorithms=tuple(native + list(found)),
        files=tuple(files),
        file_digests=tuple(map(digest_of, files)),
        sizes=tuple(sorted(set(sizes))),
        ranks=tuple(ranks),
        seed=seed,
        cell_time_s=options["cell_time"],
        min_time_s=options["min_time"],
        link_rate_bytes_per_s=options["link_rate"],
        bounded=tuple(name for name, algorithm in found.items() if algorithm.bounded and not options["algorithms"]),
        start=_start(options),
        segmented=tuple(name for name, algorithm in found.items() if algorithm.segmented),
        segment_nbytes=DEFAULT_SEGMENT_NBYTES if options["segment"] is None else options["segment"],
        **{name: options[name] for name in same},
    )


def _start(options: dict) -> Start:
    same = ("launcher", "launcher_args", "remote_shell", "ranks_per_node", "map_by", "bind_to", "interface")
    return Start(hosts=_hosts(options), **{name: options[name] for name in same})


def _hosts(options: dict) -> tuple[str, ...]:
    if not options["hostfile"]:
        return options["hosts"] or ()
    if options["hosts"]:
        raise PlanError("--hosts and --hostfile both name hosts; leave one of them out")
    try:
        return read_hostfile(options["hostfile"])
    except OSError as error:
        raise PlanError(f"--hostfile {options['hostfile']}: {error.strerror}; expected a file of hosts") from error


def _refuse_other_plan(folder: RunFolder, stored: Plan, wanted: Plan, asked: set[str]) -> None:
    """A resumed run keeps its plan; an option that was given and says something else is an error."""
    if asked & {"minbytes", "maxbytes", "stepfactor"}:
        asked = asked | {"sizes"}
    if "hostfile" in asked:
        asked = asked | {"hosts"}
    ours, theirs = _flat(stored), _flat(wanted)
    for name, value in ours.items():
        other = theirs[name]
        if OPTION_OF.get(name, name) in asked and other != value:
            raise PlanError(
                f"{folder.path}: --resume keeps the run's {name} {value or 'none'}, found {other or 'none'}; "
                "leave that option out"
            )


def _flat(plan: Plan) -> dict:
    values = plan.to_json()
    return values | values.pop("start")


def _default_ranks(options: dict) -> tuple[int, ...]:
    return (ranks_of_job(os.environ, options["ranks_per_node"]) or max(2, cores()),)


def _default_output(options: dict) -> Path:
    ranks = "-".join(map(str, options["ranks"] or _default_ranks(options)))
    return Path("results") / f"{datetime.now():%Y-%m-%d_%H%M%S}_{host()}_{ranks}r"
