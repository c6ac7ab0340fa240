"""The command with a second or two where it has several: for answers, last words, and launchers that end.

Programs of users have a minute to start, whatever --timeout says: on busy cores they need it.
"""

from allreduce_bench.launching import patience, tied_process
from allreduce_bench.watching import watch

patience.ANSWER_S = 2.0  # before others import it, and those that follow
tied_process.ENDING_S = watch.LAST_WORDS_S = 1.0
judge_answers = patience.Patience._judge_answers


def judge_answers_of_all(self, now):
    is_due = len(self.ranks) == self.size or now - self._last_news > 60
    return judge_answers(self, now) if is_due else None


patience.Patience._judge_answers = judge_answers_of_all

from allreduce_bench.__main__ import program  # noqa: E402

program()
