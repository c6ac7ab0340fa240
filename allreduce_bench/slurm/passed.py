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
    "test-only": "use --dry-run",
    "wait": OURS,
    "wrap": OURS,
    "help": OURS,
    "usage": OURS,
    "version": OURS,
    "clusters": ONE_CLUSTER,
}
SHORT = {"N": "nodes", "n": "ntasks", "J": "job-name", "t": "time", "a": "array", "o": "output", "H": "hold"}
SHORT |= {"W": "wait", "h": "help", "V": "version", "M": "clusters"}
NODELIST = ("-w", "--nodelist")


def check_passed(words: Sequence[str]) -> tuple[str, ...]:
    """The words if sbatch takes them for its options. Raises ValueError for those that submit says itself."""
    for before, word in zip(("", *words), words):
        if not word.isprintable():
            raise ValueError(f"{word!r} behind --: holds a control character; leave it out")
        a_value = before.startswith("-") and "=" not in before
        if word in ("-", "--") or not (word.startswith("-") or a_value):
            raise ValueError(
                f"'{word}' behind --: expected an option of sbatch, such as --qos=high: it would take "
                "this for the script"
            )
        if advice := DECIDED.get(_decided(word)):
            raise ValueError(f"'{word}' behind --: {advice}")
    return tuple(words)


def for_collecting(words: Sequence[str]) -> tuple[str, ...]:
    """Of words that `check_passed` took, those for the job that collects: it takes any one node."""
    pairs = list(zip(("", *words), words))
    return tuple(
        word for before, word in pairs if not (_names_nodes(word) or (before in NODELIST and not word.startswith("-")))
    )


def _names_nodes(word: str) -> bool:
    return word.startswith(NODELIST[0]) if word[:2] != "--" else word.partition("=")[0] == NODELIST[1]


def _decided(word: str) -> str:
    """Which of DECIDED the word says, shortened perhaps, as sbatch allows; empty: none."""
    if not word.startswith("--"):
        return SHORT.get(word[1:2], "") if word.startswith("-") else ""
    name = word[2:].partition("=")[0]
    return name if name in DECIDED else next((long for long in DECIDED if long.startswith(name)), "")
