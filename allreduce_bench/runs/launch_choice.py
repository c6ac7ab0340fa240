"""`--only`: a subset of the launches of a plan, so that several jobs can share a run."""

import re

from .plan import Launch, Plan, PlanError

WORD = re.compile(r"(?:(\d{1,9})r)?(?:-(\d{1,9}))?(?:-([a-z]\w{0,63}))?", re.ASCII)
UNTOUCHED = "untouched"  # the way of launches in which the library is left as it is
Choice = tuple[int | None, int | None, str | None]  # ranks, number and way of launches; None: any


def parse_only(text: str) -> dict[str, Choice]:
    """Return word -> choice: `8r` all launches with 8 ranks, `-2` number 2 of every rank count, `8r-2` both of these.

    `8r-2` has the launches of forced algorithms beside it, `8r-2-untouched` has not, `8r-2-forced` is one of them.

    Words are separated by commas; empty text has none. Raises PlanError.
    """
    choices: dict[str, Choice] = {}
    for word in filter(None, map(str.strip, text.split(","))):
        match = WORD.fullmatch(word)
        if not match:
            raise PlanError(f"--only {word}: expected for example 8r, 8r-2, 8r-2-forced or -2")
        ranks, number = (None if digits is None else int(digits) for digits in match.groups()[:2])
        choices[word] = ranks, number, "" if match[3] == UNTOUCHED else match[3]
    return choices


def chosen_launches(plan: Plan, text: str) -> list[Launch]:
    """Return the planned launches that `text` chooses, in the plan's order; empty text chooses all.

    Raises PlanError for a word that chooses none.
    """
    launches, choices = plan.planned_launches(), parse_only(text)
    for word, choice in choices.items():
        if not any(_is_chosen(launch, choice) for launch in launches):
            ranks = ", ".join(f"{ranks}r" for ranks in plan.ranks)
            numbers = "-1" if plan.launches == 1 else f"-1 to -{plan.launches}"
            ways = "".join(f", -{way}" for way in (UNTOUCHED, *plan.forced_launches) if plan.forced_launches)
            raise PlanError(f"--only {word}: the run has no such launch; known: {ranks}, each {numbers}{ways}")
    return [launch for launch in launches if is_launch_chosen(text, launch)]


def is_launch_chosen(text: str, launch: Launch) -> bool:
    """Return whether `text` chooses the launch. Raises PlanError."""
    choices = parse_only(text)
    return not choices or any(_is_chosen(launch, choice) for choice in choices.values())


def _is_chosen(launch: Launch, choice: Choice) -> bool:
    return all(one in (None, of_launch) for one, of_launch in zip(choice, launch))
