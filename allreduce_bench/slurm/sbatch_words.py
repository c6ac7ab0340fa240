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
    "job-name": BY_SUBMIT,
    "time": f"{BEFORE_DASHES}: --time",
    "array": f"{BEFORE_DASHES}: --array",
    "output": BY_SUBMIT,
    "quiet": "sbatch would not print the job number",
    "test-only": "use --dry-run",
    "wait": BY_SUBMIT,
    "wrap": BY_SUBMIT,
    "clusters": ONE_CLUSTER,
}
SHORT = {"N": "nodes", "n": "ntasks", "J": "job-name", "t": "time", "a": "array", "o": "output"}
SHORT |= {"W": "wait", "M": "clusters", "Q": "quiet"}
PARTITION = re.compile(r"(?:^|\0)(?:-p\0?|--partition[=\0])([^\0]+)")  # in words joined by \0
NODE_OPTIONS = ("-w", "--nodelist", "-F", "--nodefile")


def check_sbatch_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return the words if sbatch takes them for its options. Raises ValueError for those that submit sets itself."""
    for previous, word in zip(("", *words), words):
        if not word.isprintable():
            raise ValueError(f"{word!r} after --: contains a control character; remove it")
        if word in ("-", "--") or not (word.startswith("-") or (previous.startswith("-") and "=" not in previous)):
            raise ValueError(
                f"'{word}' after --: expected an option of sbatch, such as --qos=high; sbatch would take this for the "
                "script"
            )
        if advice := DECIDED.get(_decided_option(word)):
            raise ValueError(f"'{word}' after --: {advice}")
    return tuple(words)


def partitions_of(words: Sequence[str]) -> list[str]:
    """Return the partitions that checked words name; empty: none."""
    named = PARTITION.findall("\0".join(words))
    return named[-1].split(",") if named else []


def drop_node_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return the checked words that suit the collecting job: it takes any one node."""
    pairs = zip(("", *words), words)
    return tuple(word for previous, word in pairs if not (_names_nodes(word) or previous in NODE_OPTIONS))


def _names_nodes(word: str) -> bool:
    return word.startswith(("-w", "-F")) or word.partition("=")[0] in NODE_OPTIONS


def _decided_option(word: str) -> str:
    """Return the one of DECIDED that the word names, perhaps abbreviated, as sbatch allows; empty: none."""
    if not word.startswith("--"):
        return SHORT.get(word[1:2], "") if word.startswith("-") else ""
    name = word[2:].partition("=")[0]
    return name if name in DECIDED else next((long for long in DECIDED if long.startswith(name)), "")
