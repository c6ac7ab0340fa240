"""Options that there were once, and what to do instead."""

ADVICE: dict[str, str] = {
    "--stage": "copy the environment to the nodes before the run: bash jobs/stage.sh, see jobs/README.md",
}
