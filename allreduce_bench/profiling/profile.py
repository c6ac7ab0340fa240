"""A profile: the all-reduces that a program called, as a JSON file with a schema."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated

from ..message import Refused
from ..runs.files import read_given_text
from ..runs.json_schema.build import Format, of_type, schema_id
from ..runs.option import meanings_of, meant
from ..runs.typed_json import JsonError, Natural, NotNegative, Positive, one_of, read_as
from .in_python.mpi4py_allreduce_counts import KINDS

SCHEMA = schema_id("profile", 1)
LONGEST_FILE = 64 * 2**20  # bytes


class ProfileError(Refused, ValueError):
    """A profile that cannot be taken, or a file that is none, in words."""


@dataclass(frozen=True)
class CountedAllreduce:
    """All-reduces that differ in nothing but time."""

    nbytes: Natural | None = field(
        metadata=meant("length of the vector; null: of Python objects, whose length is not known; unit: bytes")
    )
    ranks: Positive = field(metadata=meant("ranks of the communicator"))
    dtype: str = field(metadata=meant("such as float32; another type by its name in MPI; derived; object, of Python"))
    op: str = field(metadata=meant("such as sum; user-defined"))
    in_place: bool = field(metadata=meant("whether MPI_IN_PLACE was passed"))
    call: Annotated[str, one_of(*KINDS)] = field(
        metadata=meant("how it was called; a persistent one each time it starts")
    )
    calls: Positive = field(metadata=meant("all-reduces: the calls of all ranks over the ranks of the communicator"))
    rank_calls: Positive = field(metadata=meant("calls of all ranks"))
    median_gap_s: NotNegative | None = field(
        metadata=meant(
            "median time between the end of an all-reduce and the begin of this one on a thread of a rank; a "
            "nonblocking one ends when its call returns; null: each was the first; unit: s"
        )
    )

    @property
    def total_nbytes(self) -> int:
        """Bytes of the vectors of all these calls; 0: not known."""
        return (self.nbytes or 0) * self.calls


@dataclass(frozen=True)
class Profile:
    """The all-reduces of a program."""

    schema: Annotated[str, one_of(SCHEMA)] = field(metadata=meant("name and version of the format"))
    program: str = field(metadata=meant("program and version that counted"))
    created: str = field(metadata=meant("when, ISO 8601 with the zone"))
    command: tuple[str, ...] = field(metadata=meant("command that started the program, word by word"))
    library: str = field(metadata=meant("library and version of the launcher, such as Open MPI 5.0.11"))
    counted_in: Annotated[str, one_of("MPI", "mpi4py")] = field(
        metadata=meant("where calls were counted: in MPI's profiling interface, or in mpi4py")
    )
    ranks: Positive = field(metadata=meant("ranks of the program"))
    processes: Natural = field(metadata=meant("processes whose counts are in here"))
    left_out_calls: Natural = field(
        metadata=meant("calls of ranks of which no row is kept: a rank has up to 512, those called most")
    )
    allreduces: tuple[CountedAllreduce, ...] = field(metadata=meant("those with the most bytes first"))

    def to_text(self) -> str:
        """Return the content of the file."""
        return json.dumps(asdict(self), indent=1, allow_nan=False) + "\n"


FORMATS = (
    Format(
        SCHEMA,
        "the all-reduces of a program, as exec --profile writes them",
        of_type(Profile, {**meanings_of(Profile), **meanings_of(CountedAllreduce)}),
    ),
)


def read_profile(path: Path) -> Profile:
    """Return the profile in a file. Raises ProfileError for any other content, OSError."""
    try:
        return read_as(Profile, json.loads(read_given_text(path, LONGEST_FILE)))
    except JsonError as error:
        raise ProfileError("profiling.no_profile", path=path, error=error) from error
    except (ValueError, RecursionError) as error:
        raise ProfileError("profiling.no_profile", path=path, error="no JSON") from error
