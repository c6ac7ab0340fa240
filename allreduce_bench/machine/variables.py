"""Environment variables that steer an MPI or the layout of a job: those whose values are kept, and no others."""

import re
from collections.abc import Iterable

# Variables of Open MPI's launcher:
INTERNAL = frozenset({f"OMPI_MCA_{name}" for name in ("PREFIXES", "initial_wdir", "num_procs", "cpu_type")})
# Everything else in the environment is not read: it may hold secrets.
VARIABLE_PREFIXES = ("OMPI_MCA_", "MPIR_CVAR_", "MPICH_", "UCX_", "FI_", "PSM2_", "I_MPI_", "OMP_", "GLOO_")
VARIABLE_NAMES = frozenset(
    {"SLURM_JOB_ID", "SLURM_JOB_NAME", "SLURM_JOB_PARTITION", "SLURM_JOB_NUM_NODES", "SLURM_JOB_NODELIST"}
    | {"SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_RESTART_COUNT", "SLURM_CLUSTER_NAME"}  # no account
    | {"SLURM_TASKS_PER_NODE", "SLURM_NTASKS", "SLURM_NTASKS_PER_NODE", "SLURM_CPUS_PER_TASK"}
    | {"SLURM_CPU_BIND", "SLURM_DISTRIBUTION"}
    | {"PBS_JOBID", "LSB_JOBID", "MPI4PY_RC_THREAD_LEVEL", "GLIBC_TUNABLES"}
)
OF_A_SECRET = re.compile("token|passw|secret|credential", re.IGNORECASE)
NOT_STORED = "not_stored"
KEY_OF_JOB = "OMPI_MCA_orte_precondition_transports"  # a secret of Open MPI's own
NAME_AND_VALUE = ("-env", "--env", "-genv", "--genv")  # options of launchers: name and value of a variable follow
SETTING = re.compile(r"(^|[,;])([A-Za-z_]\w*)=((?:(?![,;][A-Za-z_]\w*=).)*)", re.DOTALL)  # also several in a word


def allowed_variables(environ) -> dict[str, str]:
    """Return the variables on the allow-list, sorted by name."""
    names = {name for name in environ if is_stored(name)}
    return {name: NOT_STORED if name == KEY_OF_JOB else environ[name] for name in sorted(names - INTERNAL)}


def is_stored(name: str) -> bool:
    """Return whether the value of this variable is on the allow-list; a name that speaks of a secret never is."""
    return (name.startswith(VARIABLE_PREFIXES) and not OF_A_SECRET.search(name)) or name in VARIABLE_NAMES


def stored_setting(setting: str) -> str:
    """Return NAME=VALUE as it is stored: without the value, unless the variable is on the allow-list."""
    name, equals, _ = setting.partition("=")
    return setting if is_stored(name) or not equals else f"{name}={NOT_STORED}"


def drop_values(words: Iterable[str]) -> list[str]:
    """Return the words of a command; of variables that they set, values are kept only on the allow-list.

    Such are `NAME=VALUE`, `--export=NAME=VALUE,…` and `-genv NAME VALUE`, also within a word of several words.
    """
    shown: list[str] = []
    words = list(words)
    for option, name, word in zip(["", "", *words], ["", *words], words):
        if option in NAME_AND_VALUE and "=" not in name:
            shown.append(word if is_stored(name) else NOT_STORED)
        else:
            shown.append(_drop_values_within(word))
    return shown


def _drop_values_within(word: str) -> str:
    option, equals, settings = word.partition("=") if word.startswith(("--export=", "--env=")) else ("", "", word)
    dropped = f"{option}{equals}{SETTING.sub(_drop_value, settings)}"
    if dropped != word or len(word.split()) < 2:
        return dropped
    import shlex  # late: few ranks see such a word

    try:
        parts = shlex.split(word)
    except ValueError:  # a quote is open: no launcher takes it
        parts = word.split()
    kept = drop_values(parts)
    return word if kept == parts or len(parts) < 2 else shlex.join(kept)


def _drop_value(setting: re.Match[str]) -> str:
    before, name, _ = setting.groups()
    return setting[0] if is_stored(name) else f"{before}{name}={NOT_STORED}"
