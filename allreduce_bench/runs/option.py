"""Options of `run`, declared as the fields of a plan, its start or its control that they set.

The command line, the check of --resume, and the command that repeats a run follow from it.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, field, fields
from enum import Enum
from typing import Any, NamedTuple

STARTED = "the ranks are already started; use options of mpirun or srun"


class Section(Enum):
    """Titles of the sections of the help, in order."""

    JOBS = "Jobs"
    MEASURED = "What is measured"
    REPEATED = "How long and how often"
    DEFINED = "Definition of a time"
    BEFORE_A_CALL = "What ranks do before a call"
    STARTED = "How ranks are started"
    RESULTS = "Results"
    IN_A_JOB = "In a job"
    GONE_WRONG = "When something goes wrong"


def comma_separated(value: object) -> str:
    """Format a value as options take it: tuples joined by commas."""
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def all_digits(number: float) -> str:
    """Return all digits of a number, without an exponent."""
    from decimal import Decimal  # late: no rank needs it

    return format(Decimal(repr(number)), "f")


class Words:  # no tuple, which is a choice of words, and no dataclass, which takes longer to make: ranks import this
    """The text form of a value on the command line."""

    def __init__(
        self,
        name: str,
        parse: Callable[[str], Any],
        exact: Callable[[Any], str] = comma_separated,
        short: Callable[[Any], str] | None = None,
    ):
        """Store the conversions; `name` is the kind of value, as in the help; `parse` raises ValueError.

        `exact` is the inverse of `parse`, `short` formats a default for the help; None: as `exact`.
        """
        self.name, self.parse, self.exact, self.short = name, parse, exact, short or exact


class Whole:
    """A range of integers from `least` to `most`; None: no limit."""

    def __init__(self, least: int, most: int | None = None):
        self.least, self.most = least, most


class Option(NamedTuple):
    """An option of `run`; all but its names, section and help follow from the field unless given."""

    names: tuple[str, ...]
    section: Section
    help: str  # where it says `[default: `, the field's default is not shown
    of: Words | Whole | tuple[str, ...] | type | None  # what it takes; a tuple: one of these; None: as the annotation
    metavar: str | None
    repeated: bool  # each occurrence adds to a tuple
    always: bool  # the command that repeats a run says it, the default too
    decides: str | None  # another field, which it says in other words
    condition: bool  # it changes what is measured or what a time means, see `runs.conditions`
    too_late: str  # why it cannot be used by ranks that mpirun or srun started; empty: it can

    @property
    def name(self) -> str:
        """Name, the first long one if there is any: `--ranks`."""
        return next((name for name in self.names if name.startswith("--")), self.names[0])


# Keys of the metadata
OPTION = "option"


def option(
    *names: str,
    section: Section,
    help: str,
    default: Any = MISSING,
    default_factory: Any = MISSING,
    of: Words | Whole | tuple[str, ...] | type | None = None,
    metavar: str | None = None,
    repeated: bool = False,
    always: bool = False,
    decides: str | None = None,
    condition: bool = False,
    too_late: str = "",
) -> Any:
    """Return a field that an option of `run` sets; see `Option`, of the defaults `dataclasses.field`."""
    said = Option(names, section, help, of, metavar, repeated, always, decides, condition, too_late)
    return field(default=default, default_factory=default_factory, metadata={OPTION: said})  # type: ignore[call-overload]


def options_of(*kinds: Any) -> dict[str, Option]:
    """Return the options of dataclasses, by the names of their fields."""
    return {each.name: each.metadata[OPTION] for kind in kinds for each in fields(kind) if OPTION in each.metadata}


def in_help_order(options: Mapping[str, Option]) -> dict[str, Option]:
    """Return the options in the order of the help: by section."""
    return {name: each for section in Section for name, each in options.items() if each.section is section}
