"""The progress of a run as one live line in a terminal."""

import time
from collections.abc import Callable

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskProgressColumn
from rich.table import Column
from rich.text import Text

from ..units import format_duration
from ..watching.progress import LaunchPosition, ProgressLines

WIDE = 110  # columns, from which there is room for a bar
REFRESHES_PER_S = 2  # the ranks may need this processor


class LiveLine(ProgressLines):
    """Like ProgressLines, but one line that is updated in place; everything else is printed above it."""

    def __init__(self, position: LaunchPosition, console: Console):
        super().__init__(position)
        self.cells_ended = 0, 0  # cells, of all cells of the launch
        bar = (BarColumn(bar_width=24),) if console.width >= WIDE else ()
        columns = (*bar, TaskProgressColumn(), _Sentence(self))
        self.progress = Progress(*columns, console=console, transient=True, refresh_per_second=REFRESHES_PER_S)
        self.task = self.progress.add_task(self.where(), total=None, now="starting", result="-")
        self.progress.start()

    def begin(self, cell: str) -> None:
        """Show which cell is being measured."""
        super().begin(cell)
        self.progress.update(self.task, now=cell)

    def cell(self, done: int, cells: int, result: str, failed: bool) -> None:
        """Advance the line; keep a failed check on the screen."""
        self.cells_ended = done, cells
        earlier, later = self.position.number - 1, self.position.later
        total, completed = cells * (earlier + 1 + later), cells * earlier + done
        self.progress.update(self.task, total=total, completed=completed, result=result)
        if failed:
            self.say(f"{self.where()}  cell {done}/{cells}  {result}")

    def say(self, line: str) -> None:
        """Print a sentence at once, above the line."""
        self.progress.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def close(self) -> None:
        """Remove the line."""
        self.progress.stop()


class _Sentence(ProgressColumn):
    """The launch, the times and the cell, as far as they fit on the line; computed whenever it is drawn."""

    def __init__(self, live: LiveLine):
        self.live = live
        super().__init__(Column(no_wrap=True, overflow="ellipsis"))

    def render(self, task: Task) -> Text:
        """Return `launch 2/3  1:12 elapsed, about 0:46 remaining  now ring 8 B`;
        no estimate before a cell has ended.
        """
        done, cells = self.live.cells_ended
        elapsed = f"{format_duration(time.time() - self.live.position.started)} elapsed"
        times = self.live.times(done, cells) if done else elapsed
        words = (task.description, times, f"now {task.fields['now']}", f"last {task.fields['result']}")
        return Text("  ".join(words), no_wrap=True, overflow="ellipsis")


def on_stderr() -> Callable[[LaunchPosition], LiveLine]:
    """Return what makes the live line of each launch, on the terminal behind stderr."""
    console = Console(stderr=True)
    return lambda position: LiveLine(position, console)
