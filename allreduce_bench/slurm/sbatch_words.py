"""Words that a user passes on to sbatch: everything that submit does not decide itself."""

from collections.abc import Sequence

MEANT = "say it before the --"
OURS = "submit decides it itself"
ONE_CLUSTER = "submit on a login node of that cluster"
DECIDED = {  # options of sbatch that would undo what the scripts say -> what to do instead
    "nodes": f"{MEANT}: --nodes",
    "ntasks": "ranks are nodes x ranks per node: --nodes, --ranks-per-node",
    "ntasks-per-node": f"{MEANT}: --ranks-per-node",
    "job-name": f"{MEANT}: --job-name",
    "time": f"{MEANT}: --time",
    "array": f"{MEANT}: --array",
    "output": OURS,
    "hold": OURS,
    "parsable": OURS,
    "quiet": "sbatch would keep the number of the job to itself",
    "test-only": "use --dry-run",
    "wait": OURS,
    "wrap": OURS,
    "help": OURS,
    "usage": OURS,
    "version": OURS,
    "clusters": ONE_CLUSTER,
}
SHORT = {"N": "nodes", "n": "ntasks", "J": "job-name", "t": "time", "a": "array", "o": "output", "H": "hold"}
SHORT |= {"W": "wait", "h": "help", "V": "version", "M": "clusters", "Q": "quiet"}
FLAGS = {"contiguous", "exclusive", "get-user-env", "nice", "no-kill", "no-requeue", "overcommit", "oversubscribe"}
FLAGS |= {"propagate", "reboot", "requeue", "share", "spread-job", "use-min-nodes", "verbose"}
SHORT_FLAGS = ("-k", "-O", "-s", "-v")  # behind either no value stands: sbatch would take it for the script


def check_sbatch_words(words: Sequence[str]) -> tuple[str, ...]:
    """The words if sbatch takes them for its options. Raises ValueError for those that submit says itself."""
    for before, word in zip(("", *words), words):
        if not word.isprintable():
            raise ValueError(f"{word!r} behind --: holds a control character; leave it out")
        a_value = before.startswith("-") and "=" not in before and before not in SHORT_FLAGS and before[2:] not in FLAGS
        if word in ("-", "--") or not (word.startswith("-") or a_value):
            raise ValueError(
                f"'{word}' behind --: expected an option of sbatch, such as --qos=high: it would take "
                "this for the script"
            )
        if advice := DECIDED.get(_decided(word)):
            raise ValueError(f"'{word}' behind --: {advice}")
    return tuple(words)


def for_collecting(words: Sequence[str]) -> tuple[str, ...]:
    """Of words that `check_sbatch_words` took, those for the job that collects: it takes any one node."""
    pairs = zip(("", *words), words)
    return tuple(word for before, word in pairs if not (_names_nodes(word) or _names_nodes_next(before, word)))


def _names_nodes(word: str) -> bool:
    """Whether it is an option that chooses nodes, shortened perhaps: no other begins with --nodel or --nodef."""
    if not word.startswith("--"):
        return word.startswith(("-w", "-F"))
    name = word.partition("=")[0]
    return len(name) > len("--node") and any(long.startswith(name) for long in ("--nodelist", "--nodefile"))


def _names_nodes_next(before: str, word: str) -> bool:
    """Whether it is the value of such an option."""
    alone = before in ("-w", "-F") or (before.startswith("--") and "=" not in before)
    return alone and _names_nodes(before) and not word.startswith("-")


def _decided(word: str) -> str:
    """Which of DECIDED the word says, shortened perhaps, as sbatch allows; empty: none."""
    if not word.startswith("--"):
        return SHORT.get(word[1:2], "") if word.startswith("-") else ""
    name = word[2:].partition("=")[0]
    return name if name in DECIDED else next((long for long in DECIDED if long.startswith(name)), "")
