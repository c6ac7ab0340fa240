"""Options that there were once, and what to do instead."""

ADVICE: dict[str, str] = {
    "--stage": "copy the environment to the nodes before the run: bash jobs/stage.sh, see jobs/README.md",
    "--no-limit": "leave it out: long work is no longer refused; --within 10m bounds the time of a run",
}
