"""The words of a user for sbatch: any option that `submit` does not set itself, and nothing else."""

import re
from collections.abc import Sequence

BEFORE_DASHES = "put it before the --"
BY_SUBMIT = "submit sets it itself"
ONE_CLUSTER = "submit on a login node of that cluster"
DECIDED = {  # options of sbatch that would override the scripts -> what to do instead
    "nodes": f"{BEFORE_DASHES}: --nodes",
    "ntasks": "ranks are nodes x ranks per node: --nodes, --ranks-per-node",
    "ntasks-per-node": f"{BEFORE_DASHES}: --ranks-per-node",
    "job-name": f"{BEFORE_DASHES}: --job-name",
    "time": f"{BEFORE_DASHES}: --time",
    "array": f"{BEFORE_DASHES}: --array",
    "output": BY_SUBMIT,
    "hold": BY_SUBMIT,
    "parsable": BY_SUBMIT,
    "quiet": "sbatch would not print the job number",
    "test-only": "use --dry-run",
    "wait": BY_SUBMIT,
    "wrap": BY_SUBMIT,
    "help": BY_SUBMIT,
    "usage": BY_SUBMIT,
    "version": BY_SUBMIT,
    "clusters": ONE_CLUSTER,
}
SHORT = {"N": "nodes", "n": "ntasks", "J": "job-name", "t": "time", "a": "array", "o": "output", "H": "hold"}
SHORT |= {"W": "wait", "h": "help", "V": "version", "M": "clusters", "Q": "quiet"}
FLAGS = {"contiguous", "exclusive", "get-user-env", "nice", "no-kill", "no-requeue", "overcommit", "oversubscribe"}
FLAGS |= {"propagate", "reboot", "requeue", "share", "spread-job", "use-min-nodes", "verbose"}
PARTITION = re.compile(r"(?:^|\0)(?:-p\0?|--partition[=\0])([^\0]+)")  # in words joined by \0
SHORT_FLAGS = ("-k", "-O", "-s", "-v")  # without a value: sbatch would take it for the script


def check_sbatch_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return the words if sbatch takes them for its options. Raises ValueError for those that submit sets itself."""
    for previous, word in zip(("", *words), words):
        if not word.isprintable():
            raise ValueError(f"{word!r} after --: contains a control character; remove it")
        if word in ("-", "--") or not (word.startswith("-") or _takes_value(previous)):
            raise ValueError(
                f"'{word}' after --: expected an option of sbatch, such as --qos=high; sbatch would take this for the "
                "script"
            )
        if advice := DECIDED.get(_decided_option(word)):
            raise ValueError(f"'{word}' after --: {advice}")
    return tuple(words)


def _takes_value(word: str) -> bool:
    """Return whether the next word is the value of this one."""
    return word.startswith("-") and "=" not in word and word not in SHORT_FLAGS and word[2:] not in FLAGS


def partitions_of(words: Sequence[str]) -> list[str]:
    """Return the partitions that checked words name; empty: none."""
    named = PARTITION.findall("\0".join(words))
    return named[-1].split(",") if named else []


def for_collecting(words: Sequence[str]) -> tuple[str, ...]:
    """Return those of the checked words that suit the collecting job: it takes any one node."""
    pairs = zip(("", *words), words)
    return tuple(word for previous, word in pairs if not (_names_nodes(word) or _names_nodes_next(previous, word)))


def _names_nodes(word: str) -> bool:
    """Return whether it is an option, perhaps abbreviated, that chooses nodes: no other begins with --nodel or
    --nodef.
    """
    if not word.startswith("--"):
        return word.startswith(("-w", "-F"))
    name = word.partition("=")[0]
    return len(name) > len("--node") and any(long.startswith(name) for long in ("--nodelist", "--nodefile"))


def _names_nodes_next(previous: str, word: str) -> bool:
    """Return whether it is the value of such an option."""
    is_alone = previous in ("-w", "-F") or (previous.startswith("--") and "=" not in previous)
    return is_alone and _names_nodes(previous) and not word.startswith("-")


def _decided_option(word: str) -> str:
    """Return the one of DECIDED that the word names, perhaps abbreviated, as sbatch allows; empty: none."""
    if not word.startswith("--"):
        return SHORT.get(word[1:2], "") if word.startswith("-") else ""
    name = word[2:].partition("=")[0]
    return name if name in DECIDED else next((long for long in DECIDED if long.startswith(name)), "")
