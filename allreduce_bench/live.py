"""How far a run is, as one live line in a terminal."""

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from .progress import Lines, Place


class Live(Lines):
    """The same as Lines, but the line stays in its place; whatever else is said appears above it."""

    def __init__(self, place: Place, console: Console):
        super().__init__(place)
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TaskProgressColumn(),
            TextColumn("{task.fields[times]}   now {task.fields[now]}   last {task.fields[result]}", markup=False),
        )
        self.progress = Progress(*columns, console=console, transient=True)
        self.task = self.progress.add_task(self.where(), total=None, times="", now="starting", result="-")
        self.progress.start()

    def begin(self, words: str) -> None:
        """Show which cell is being measured."""
        super().begin(words)
        self.progress.update(self.task, now=words)

    def cell(self, done: int, cells: int, words: str, failed: bool) -> None:
        """Move the line on; a failed check stays on the screen."""
        whole, before = cells * self.place.planned, cells * (self.place.number - 1)
        self.progress.update(
            self.task, total=whole, completed=before + done, times=self.times(done, cells), result=words
        )
        if failed:
            self.say(f"{self.where()}  cell {done}/{cells}  {words}")

    def say(self, words: str) -> None:
        """Say something at once, above the line."""
        self.progress.console.print(words, markup=False, highlight=False, soft_wrap=True)

    def close(self) -> None:
        """Take the line away."""
        self.progress.stop()
