"""The policy names exactly what stands in a page, and data does not leave its element."""

import json
import re

import pytest
from contrast import contrast
from jinja2 import UndefinedError

from allreduce_bench.web import engine, policy, script_data, theme, without_controls


def test_the_policy_allows_what_it_was_given_and_nothing_else():
    said = policy(["a{}"], ["one()", "two()"])
    assert "default-src 'none'" in said and "unsafe" not in said
    assert re.search(r"script-src 'sha256-[^ ]+=' 'sha256-[^ ]+=';", said)
    assert "'sha256-n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg='" in policy([], ["test"])
    assert "script-src 'none'" in policy(["a{}"], [])


def test_markup_in_data_stays_data():
    hostile = {"name": "</script><img src=x onerror=alert(1)>&amp;\u2028"}
    text = script_data(hostile)
    assert not set("<>&\u2028") & {*text}
    assert json.loads(text) == hostile


def test_controls_are_replaced():
    assert without_controls("a\x1b[1mb\n") == "a\N{REPLACEMENT CHARACTER}[1mb\n"
    assert without_controls("a\u202eb") == "a\N{REPLACEMENT CHARACTER}b"  # which turns round what follows
    assert without_controls(3) == 3


def palettes() -> list[dict[str, str]]:
    blocks = re.findall(r":root \{(.*?)\}", theme(), re.DOTALL)
    return [dict(re.findall(r"--([\w-]+): (#\w{6})", block)) for block in blocks if "--ink" in block]


@pytest.mark.parametrize("palette", palettes(), ids=("light", "dark"))
def test_letters_are_read_on_light_and_on_dark_paper(palette):
    for paper in ("paper", "shade"):
        for ink in ("ink", "soft", "link", "good", "caution", "bad"):
            assert contrast(palette[ink], palette[paper]) >= 4.5, (ink, paper)
    for ink, paper in (("good", "good-paper"), ("caution", "caution-paper"), ("bad", "bad-paper"), ("ink", "best")):
        assert contrast(palette[ink], palette[paper]) >= 4.5, (ink, paper)
    assert contrast(palette["edge"], palette["paper"]) >= 3


def test_templates_escape_texts_and_refuse_names_that_are_not_given():
    made = engine("allreduce_bench.pages")
    assert made.from_string("{{ text }}").render(text="<b>\x07") == "&lt;b&gt;\N{REPLACEMENT CHARACTER}"
    with pytest.raises(UndefinedError):
        made.from_string("{{ text }}").render()
