"""What a submission was told, kept with it, so that `submit --resume` need not be told again."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..runfolder import RunError, read_json
from .submissions import JOBS, SUBMISSION

AGAIN = "again"  # where it stands in submission.json


@dataclass(frozen=True)
class Again:
    """The choices of a submission that are not in the plan of its runs."""

    system: str  # path of its file
    job_name: str
    template: str = ""  # path; empty: the shipped one
    time_s: float | None = None  # the limit; None: the system's, or by what is left
    array: bool = False
    stage: str = ""
    steering: tuple[str, ...] = ()  # options of run
    arguments: tuple[str, ...] = ()  # for sbatch

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)

    @classmethod
    def read(cls, sweep: Path, number: int) -> "Again":
        """Of the submission with this number. Raises RunError where it is damaged."""
        path = sweep / JOBS / str(number) / SUBMISSION
        values: Any = read_json(path).get(AGAIN)
        try:
            lists = {name: tuple(values[name]) for name in ("steering", "arguments")}
            again = cls(**{**values, **lists})
        except (KeyError, TypeError) as error:
            raise RunError(f"{path}: damaged: {AGAIN}: {error}; submit without --resume into a new folder") from error
        texts = (again.system, again.job_name, again.template, again.stage, *again.steering, *again.arguments)
        if not all(type(text) is str for text in texts) or type(again.time_s) not in (float, int, type(None)):
            raise RunError(f"{path}: damaged: {AGAIN} is {values!r:.80}")
        return again
