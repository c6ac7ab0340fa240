"""The command line of a rank, written: `measuring.command` reads it."""

from ..measuring.command import RankArguments


def rank_options(arguments: RankArguments) -> list[str]:
    """What `measuring.command.parse_arguments` reads: `--name value` pairs, then `--` and the run folder."""
    options = arguments._asdict()
    folder = options.pop("folder")
    given = [(name, value) for name, value in options.items() if value is not None]
    pairs = [word for name, value in given for word in (f"--{name.replace('_', '-')}", value)]
    return [*pairs, "--", str(folder)]  # the folder's name may begin with a dash
