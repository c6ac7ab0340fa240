"""The command with a second where it has several: for answers, last words, and launchers that end."""

from allreduce_bench.launching import patience, tied_process
from allreduce_bench.watching import watch

patience.ANSWER_S = tied_process.ENDING_S = watch.LAST_WORDS_S = 1.0  # before others import them

from allreduce_bench.__main__ import program  # noqa: E402

program()
