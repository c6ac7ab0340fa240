"""The notes of several models as few lines: what is true of several stands once, with their names before it."""

from collections.abc import Sequence

ALL = 3  # from so many series on, a note about every one of them begins with "all"


def joined_notes(notes_of: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """`ring, tree: 4 ranks are oversubscribed`, from (name of a series, its notes); in the order of their appearance.

    What holds for all of three series or more begins with `all series`. Notes that differ in a figure stay apart.
    """
    names_of: dict[str, list[str]] = {}
    for name, notes in notes_of:
        for note in notes:
            names_of.setdefault(note, []).append(name)
    return [
        f"{'all series' if len(names) == len(notes_of) >= ALL else ', '.join(names)}: {note}"
        for note, names in names_of.items()
    ]
