"""What pictures say in words: a title, a line for each round, and how to read a box."""

from .drawing import Drawing

LEGEND = (
    "A box is a rank, a row a part of the vector. Filled: whose values the row has summed up.\n"
    "Full colour: the finished sum of all ranks. S1 on an arrow is the finished sum of part 1."
)


def title(drawing: Drawing) -> str:
    """`ring on 4 ranks, 6 rounds`."""
    ranks = "1 rank" if drawing.ranks == 1 else f"{drawing.ranks} ranks"
    rounds = "1 round" if len(drawing.rounds) == 1 else f"{len(drawing.rounds)} rounds"
    return f"{drawing.algorithm} on {ranks}, {rounds}"


def of_round(drawing: Drawing, number: int) -> str:
    """What happens in round `number` (from 0); the one after the last is the end."""
    if number == len(drawing.rounds):
        return "end: every rank holds every sum"
    adds = {message.reduce for message in drawing.rounds[number].messages}
    what = "receivers add" if adds == {True} else "receivers keep" if adds == {False} else "add (solid), keep (dashed)"
    return f"round {number + 1} of {len(drawing.rounds)}: {what}"
