"""Why nobody is named."""

import numpy as np
from made_arrivals import arrivals, judgement

from allreduce_bench.stragglers import verdict
from allreduce_bench.stragglers.sentences import judge_arrivals, silence_words, verdict_sentences
from allreduce_bench.stragglers.synthetic import Slow, synthetic_arrivals
from allreduce_bench.stragglers.verdict import BELOW_NOISE, NO_READY_TIMES, NO_SINGLE_CAUSE, TOO_ALIKE


def test_every_silence_has_its_words():
    one = judgement(slow=None)
    codes = [value for name, value in vars(verdict).items() if isinstance(value, str) and name.isupper()]
    said = {silence_words(one.arrivals, one.report._replace(silence=code)) for code in codes if " " in code}
    assert len(said) == 8 and all(said)
    loud = one.report._replace(silence=BELOW_NOISE, noise_share=0.9, slower_by=np.full(8, 0.2))
    assert "steadily" in silence_words(one.arrivals, loud)
    louder = silence_words(one.arrivals, loud._replace(noise_share=4.7))
    assert "a whole step is not told" in louder


def test_ranks_that_are_often_last_and_do_not_stand_out_are_told():
    made = synthetic_arrivals(16, 200, 5, [Slow((rank,), 0.03 * rank) for rank in range(16)], noise=0.02, spikes=0)
    one = judge_arrivals("", made)
    assert one.report.silence == NO_SINGLE_CAUSE and 15 in one.report.often_last
    assert "arrive last often (" in verdict_sentences(one)[0] and " of steps, p <" in verdict_sentences(one)[0]


def test_what_steps_are_worth_that_depend_on_each_other():
    made = synthetic_arrivals(8, 100, 1, noise=0.2, lag1=0.98, spikes=0)
    one = judge_arrivals("", made)
    assert one.report.silence == TOO_ALIKE and one.report.worth_steps < 5 < 100 < one.report.steps_needed
    said = verdict_sentences(one)[0]
    assert "next ones" in said and "100 steps" in said and "next ones" in said and "5 are the" in said
    endless = silence_words(made, one.report._replace(steps_needed=np.nan))
    assert endless.endswith("and 5 are the least")


def test_a_step_that_was_held_up_once_is_told_first():
    made = arrivals(slow=None, noise=0.001)
    made.ready_s[50, 2] += 9.0
    made.step_s[50] += 9.0
    said = verdict_sentences(judge_arrivals("", made))
    assert "steps, but rank 2 held up step 50 once, for 9" in said[0]
    assert said[0].endswith(" % of all waiting")


def test_without_ready_times_the_times_of_steps_are_told():
    made = arrivals(steps=30)
    one = judge_arrivals("", made._replace(ready_s=np.full(made.ready_s.shape, np.nan)))
    said = verdict_sentences(one)
    assert one.report.silence == NO_READY_TIMES
    assert len(said) == 1 and "program never" in said[0]
