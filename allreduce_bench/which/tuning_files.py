"""Files by which a library loads a tuning: written, and read again.

Open MPI 5: one file of rules, in the classic format. Its lookup takes the nearest smaller communicator, and the first
entry for all below it; so size 1 comes first and each measured number of ranks is closed by the next one, both with
algorithm 0, the library's own choice (coll_tuned_dynamic_file.c).

MPICH: a folder with the library's own selection files, in which all-reduces of these communicators are changed:
ch4.json passes them to the algorithms of mpir.json (composition beta), which has the rules. Both begin as the library
at hand has them, since a file replaces the choices of all collectives (maint/tuning/coll).

Each says of itself what it was made from, how it is loaded and how it is taken back, and has the tuning as one line of
JSON, by which `tune` knows its own files.
"""

import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from itertools import zip_longest
from pathlib import Path
from typing import Any

from ..machine import OPEN_MPI
from ..runs.files import read_given_text, refuse_given, refuse_special, write_atomically, written_together
from ..runs.library_algorithms import INTRA, SEGMENT_NBYTES, TUNED
from ..runs.typed_json import JsonError, read_as
from ..units import escaped, format_ranges, format_size, shell_word
from .rules import ALLREDUCE, LONGEST
from .settings import DYNAMIC, OF_OPEN_MPI, RULES_FILE
from .tuning import Rule, TuneError, Tuning, rules_at, run_words

MARK = "allreduce-bench tune: "  # of the line with the tuning
README, RULES, COMPOSITIONS = "README", "mpir.json", "ch4.json"  # files of a folder for MPICH
RULES_OF = {  # the variable that names a file -> the file
    "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE": RULES,
    "MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE": COMPOSITIONS,
}
OVER_NODES = (
    "For jobs on one node: over several nodes han may call tuned in its parts, where these rules were not measured."
)
OTHER_COLLECTIVES = "These files replace the choices of all collectives; but for all-reduce they are the library's own."
ENUMERATED = re.compile(rf"{TUNED}:enumerator:value:(\d+):(\w+)")
EMBEDDED = re.compile(rb'\{"collective=[^\0]+\}\}')  # the selections that a library of MPICH has in itself
BETA = "composition=MPIDI_Allreduce_intra_composition_beta"
PARAMETERS: dict[
    str, dict[str, dict]
] = {  # algorithm of MPICH -> what its selection names beside it, with the values that its variables have
    "recexch": {"k=2": {}, "single_phase_recv=0": {}},
    "k_reduce_scatter_allgather": {"k=2": {}, "single_phase_recv=0": {}},
    "recursive_multiplying": {"k=2": {}},
}
PATIENCE_S = 20
NO_CHOICE = {TUNED: (OF_OPEN_MPI + TUNED, "0"), INTRA: (INTRA, "auto")}  # as settings call it -> how it chooses none
RULES_VARIABLE = OF_OPEN_MPI + RULES_FILE
LOADING = (*RULES_OF, RULES_VARIABLE)  # variables that name files


def variables_of(place: str, tuning: Tuning) -> dict[str, str]:
    """Return the variables of the environment that load the files at an absolute path.

    One that chose an algorithm for the runs' default would win over the files: it chooses none.
    """
    told = {one.partition("=")[0] for one in tuning.told.split()}
    ended = {variable: value for name, (variable, value) in NO_CHOICE.items() if name in told}
    if tuning.library.startswith(OPEN_MPI):
        return {OF_OPEN_MPI + DYNAMIC: "1", RULES_VARIABLE: place, **ended}
    return {variable: f"{place}/{name}" for variable, name in RULES_OF.items()} | ended


def refuse_others_file(path: Path, tuning: Tuning) -> None:
    """Raise TuneError for a path that jobs cannot load, or where something stands that `tune` did not write.

    Raises OSError as writing does.
    """
    if path.name == "-" or not str(path.resolve()).isprintable():
        raise TuneError(f"{escaped(str(path))}: expected a file that jobs can load, with a printable path")
    if tuning.library.startswith(OPEN_MPI):
        refuse_given(path)
    elif path.exists() and not path.is_dir():
        raise TuneError(f"{path}: a file; for {tuning.library} tune writes a folder: name a new one")
    if path.is_dir() and not any(path.iterdir()):
        return
    if path.is_dir() or path.is_file():
        try:
            read_tuning(path)
        except TuneError as error:
            raise TuneError(f"{path}: not written by tune, and never replaced; name a new path with -o") from error


def write_tuning(path: Path, tuning: Tuning, prefix: Path) -> None:
    """Write the files; `prefix`: where the library is installed. Raises TuneError, OSError."""
    refuse_others_file(path, tuning)
    texts, head = make_texts(tuning, prefix), _header_lines(tuning)
    if tuning.library.startswith(OPEN_MPI):
        write_atomically(path, "".join(f"# {line}\n" for line in head) + texts[""])
        return
    with written_together(path) as hidden:
        for name, text in {**texts, README: "\n".join(head) + "\n"}.items():
            (hidden / path.name / name).write_text(text)


def make_texts(tuning: Tuning, prefix: Path) -> dict[str, str]:
    """Return what the library reads, by names of files; of Open MPI one without a name, and without its comments.

    `prefix`: where the library is installed. Raises TuneError.
    """
    if tuning.library.startswith(OPEN_MPI):
        return {"": open_mpi_text(tuning, _ask_numbers(prefix))}
    selections = zip((RULES, COMPOSITIONS), mpich_selections(tuning, *_read_embedded(prefix)))
    return {name: json.dumps(selection, indent=1) + "\n" for name, selection in selections}


def read_tuning(path: Path) -> Tuning:
    """Return the tuning that files say of themselves. Raises TuneError: they are not `tune`'s."""
    try:
        file = path / README if path.is_dir() else path
        refuse_special(file)
        text = read_given_text(file, LONGEST)
        line = next(line for line in text.splitlines() if MARK in line)
        return read_as(Tuning, json.loads(line.partition(MARK)[2]), exact=True)
    except (StopIteration, FileNotFoundError, UnicodeDecodeError):
        raise TuneError(f"{path}: no file of tune; make one: allreduce-bench tune RUN -o FILE") from None
    except (JsonError, json.JSONDecodeError) as error:
        raise TuneError(f"{path}: the line '{MARK.rstrip(': ')}' was changed: {error}; make the file again") from error


def refuse_changed(path: Path, tuning: Tuning, prefix: Path) -> None:
    """Raise TuneError unless the library reads at a path what `tune` writes for this tuning, and nothing else."""
    for name, text in make_texts(tuning, prefix).items():
        file = path / name if name else path
        try:
            found = read_given_text(file, LONGEST)
        except (OSError, UnicodeDecodeError) as error:
            raise TuneError(
                f"{file}: cannot be read: {error}; make it again: {remake_command(path, tuning)}"
            ) from error
        kept = found if name else "".join(f"{line}\n" for line in found.splitlines() if not line.startswith("#"))
        if kept != text:
            lines = zip_longest(kept.splitlines(), text.splitlines())
            wrong, wanted = next((pair for pair in lines if pair[0] != pair[1]), ("", ""))
            raise TuneError(
                f"{file}: changed since tune wrote it, so the library reads something else, or ignores it: found "
                f"'{escaped(wrong or '')}', expected '{wanted or ''}'; make it again: {remake_command(path, tuning)}"
            )


def remake_command(path: Path, tuning: Tuning) -> str:
    """Return the command that makes the files again."""
    return f"allreduce-bench tune {run_words(tuning)} -o {shell_word(path)}"


def _header_lines(tuning: Tuning) -> list[str]:
    """Return what files say of themselves, wherever they are moved to."""
    draft = ["DRAFT: made from runs of one day and the same hosts. Add a run of another day or of other hosts."]
    return [
        f"All-reduce of {tuning.library} on one node, {format_ranges(tuning.ranks)} ranks; by allreduce-bench tune",
        *(draft if tuning.is_draft else []),
        f"made from {', '.join(map(escaped, tuning.runs))}; measured on {', '.join(tuning.days)}, "
        f"{', '.join(map(escaped, tuning.hosts))}{f'; {escaped(tuning.conditions)}' if tuning.conditions else ''}",
        *([f"the default was what {escaped(tuning.told)} made of it"] if tuning.told else []),
        *([rule.words for rule in tuning.rules] or ["no rules: the default is shown to be slower nowhere"]),
        f"verified: {tuning.verified}" if tuning.verified else "not verified: allreduce-bench tune --verify PATH",
        "Sums of floats may change in their last bits: another algorithm adds in another order.",
        *_loading_lines(tuning),
        "Take it back: unset these variables, delete the file.",
        MARK + json.dumps(asdict(tuning)),
    ]


def _loading_lines(tuning: Tuning) -> list[str]:
    """Return how a job loads the files, and how all jobs of a site do."""
    variables = variables_of("PATH", tuning)
    one_job = ["For one job, where PATH is the absolute path of this file:"]
    one_job += [f"  export {name}={value}" for name, value in variables.items()]
    if not tuning.library.startswith(OPEN_MPI):
        one_job[0] = one_job[0].replace("file", "folder")
        return [OTHER_COLLECTIVES, *one_job, "For all jobs: the same in the module file of the library."]
    for_all = [f"  {name.removeprefix(OF_OPEN_MPI)} = {value}" for name, value in variables.items()]
    where = "For all jobs, in etc/openmpi-mca-params.conf where the library is installed:"
    return [OVER_NODES, *one_job, where, *for_all]


# Open MPI


def open_mpi_text(tuning: Tuning, numbers: Mapping[str, int]) -> str:
    """Return the rules; `numbers`: algorithm -> its number in the library at hand. Raises TuneError."""
    if not tuning.rules:
        return "0  # collectives\n"
    counts: dict[int, list[tuple[int, str]]] = {}
    for ranks, low, algorithm in _entries(tuning):
        counts.setdefault(ranks, []).append((low, algorithm))
    lines = ["1  # collective", f"{ALLREDUCE}  # all-reduce", f"{len(counts)}  # communicator sizes"]
    for ranks, entries in counts.items():
        lines += [f"{ranks}  # ranks", f"{len(entries)}  # message sizes"]
        lines += [_open_mpi_line(low, name, numbers, tuning.library) for low, name in entries]
    return "\n".join(lines) + "\n"


def _entries(tuning: Tuning) -> Iterator[tuple[int, int, str]]:
    """Yield ranks, first size in bytes and algorithm of each entry; empty: the library's own choice."""
    measured = sorted({rule.ranks for rule in tuning.rules})
    for ranks in sorted({1, *measured, *(ranks + 1 for ranks in measured)}):
        own = 0  # from where on the library chooses
        for rule in rules_at(tuning, ranks):
            if own < rule.low_bytes:
                yield ranks, own, ""
            yield ranks, rule.low_bytes, rule.algorithm
            own = rule.high_bytes + 1
        yield ranks, own, ""


def _open_mpi_line(low_bytes: int, algorithm: str, numbers: Mapping[str, int], library: str) -> str:
    if algorithm and algorithm not in numbers:
        raise TuneError(f"{library} at hand has no {algorithm}; it has {', '.join(numbers)}")
    segment_nbytes = SEGMENT_NBYTES if algorithm == "segmented_ring" else 0
    words = f"{algorithm} from {format_size(low_bytes)}" if algorithm else "the default"
    return f"{low_bytes} {numbers[algorithm] if algorithm else 0} 0 {segment_nbytes}  # {words}"


def _ask_numbers(prefix: Path) -> dict[str, int]:
    """Return the algorithms of the library at hand and their numbers, as its ompi_info says. Raises TuneError."""
    program = prefix / "bin" / "ompi_info"
    command = [str(program), "--param", "coll", "tuned", "--level", "9", "--parsable"]
    try:
        text = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TuneError(f"{program} does not say which algorithms there are: {error}") from error
    found = {name: int(number) for number, name in ENUMERATED.findall(text) if int(number)}
    if not found:
        raise TuneError(f"{program} names no algorithms of all-reduce (coll tuned); expected Open MPI 5")
    return found


# MPICH


def mpich_selections(tuning: Tuning, rules: dict[str, Any], compositions: dict[str, Any]) -> tuple[dict, dict]:
    """Return the selections of mpir.json and ch4.json, from those that the library has in itself."""
    told, passed = rules["collective=allreduce"], compositions["collective=allreduce"]
    intra = {
        "comm_hierarchy=node": told["comm_type=intra"],  # parts of a larger all-reduce are left as they are
        "comm_hierarchy=node_roots": told["comm_type=intra"],
        "comm_hierarchy=any": _select_by_ranks(tuning, told["comm_type=intra"], _told_algorithm),
    }
    beta = _select_by_ranks(tuning, passed["comm_type=intra"], lambda rule, default: _where_safe({BETA: {}}, default))
    return (
        {**rules, "collective=allreduce": {**told, "comm_type=intra": intra}},
        {**compositions, "collective=allreduce": {**passed, "comm_type=intra": beta}},
    )


def _select_by_ranks(tuning: Tuning, default: dict, leaf_of) -> dict[str, Any]:
    """Return a selection by ranks and size; `leaf_of(rule, default)` stands where a rule does."""
    found: dict[str, Any] = {}
    for ranks in sorted({rule.ranks for rule in tuning.rules}):
        found[f"comm_size<{ranks}"] = default
        sizes: dict[str, Any] = {}
        for rule in rules_at(tuning, ranks):
            sizes[f"avg_msg_size<{rule.low_bytes}"] = default
            sizes[f"avg_msg_size<={rule.high_bytes}"] = leaf_of(rule, default)
        found[f"comm_size<={ranks}"] = {**sizes, "avg_msg_size=any": default}
    return {**found, "comm_size=any": default} if found else default


def _told_algorithm(rule: Rule, default: dict) -> dict[str, Any]:
    leaf = {f"algorithm=MPIR_Allreduce_intra_{rule.algorithm}": PARAMETERS.get(rule.algorithm, {})}
    return _where_safe(leaf, default)


def _where_safe(leaf: dict, default: dict) -> dict[str, Any]:
    """Return a leaf for what was measured: an operation of MPI that commutes, on as many elements as ranks or more."""
    built_in = {"count<pow2": default, "count=any": leaf}
    return {
        "is_commutative=no": default,
        "is_commutative=yes": {"is_op_built_in=no": default, "is_op_built_in=yes": built_in},
    }


def _read_embedded(prefix: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the selections that the library has in itself: of algorithms, and of compositions. Raises TuneError."""
    folders = [prefix / "lib", prefix / "lib64", *sorted((prefix / "lib").glob("*-linux-gnu"))]
    files = dict.fromkeys(path.resolve() for folder in folders for path in sorted(folder.glob("libmpi*.so*")))
    for path in files:
        content = path.read_bytes() if os.access(path, os.R_OK) else b""
        texts = [found[0].decode("ascii", "replace") for found in EMBEDDED.finditer(content)]
        rules = next((text for text in texts if "algorithm=MPIR_Allreduce_intra" in text), None)
        compositions = next((text for text in texts if BETA in text), None)
        if rules and compositions:
            return json.loads(rules), json.loads(compositions)
    raise TuneError(f"no library below {prefix} has MPICH's selections (libmpi*.so of version 4 or 5) in itself")
