"""`explain ALG -o page.html` in the browser: it moves, goes back, says what `predict` says, and can be read by all."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from interpreters import FULL

from allreduce_bench.cli import main

PANEL = "document.querySelector('#panel-0')"
PAGE = "document.documentElement.dataset"
PICTURE = """[...document.querySelectorAll('.moment.now, #status, .axis')].map(e => e.innerHTML)"""
LOOKS = pytest.mark.parametrize("look", [{}, {"width": 390, "dark": True}], ids=str)
SEEN = [  # each of another shape
    ("ring", "-n", "4"),
    ("hierarchical_ring", "-n", "8", "--ranks-per-node", "4"),
    ("two_tree", "-n", "16"),
    ("rabenseifner", "-n", "6"),
    ("ring", "two_tree", "-n", "8"),
]
SHAPES = pytest.mark.parametrize("words", SEEN, ids=" ".join)
LEAST_CONTRAST, LEAST_LETTERS_PX, PAPER_PX = 4.5, 11.0, 718  # A4 within Chromium's margins
MARKUP = '"><img src=x onerror="hacked=1"><svg onload="hacked=1"></svg><!--'
IN_SCRIPT = "</script><script>hacked=1</script>\u2028'-hacked=1-'"
OWN = f"""
from allreduce_bench.algorithms import Cost, algorithm
from allreduce_bench.schedule import Step

def doubling(rank, size, topology, count, segment):
    whole, distance = (range(count),), 1
    while distance < size:
        yield Step(dest=rank ^ distance, send=whole, source=rank ^ distance, recv=whole, reduce=True)
        distance *= 2

def cost(size, topology, count, segment):
    rounds = size.bit_length() - 1
    return Cost(messages=rounds, elements=rounds * count, reduced=rounds * count)

doubling.__doc__ = doubling.__name__ = {MARKUP + IN_SCRIPT!r}
own = algorithm(cost=cost, exact=True, formula=doubling.__doc__, known_as=doubling.__doc__)(doubling)
"""


def said(words) -> str:
    """What the command line prints for `words`, and nothing goes wrong."""
    result = CliRunner().invoke(main, [*map(str, words)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="session")
def explained(tmp_path_factory) -> Callable[..., Path]:
    """`explained("ring", "-n", "4")` is the page of these words, made once."""
    folder = tmp_path_factory.mktemp("explained")

    def made(*words: str) -> Path:
        path = folder / f"{'_'.join(words)}.html"
        if not path.exists():
            said(["explain", *words, "-o", path])
        return path

    return made


def state(page, panel: int = 0) -> dict:
    """What a panel says of itself: round, rounds, complete, total-s and so on, as numbers."""
    read = page.evaluate(f"({{...document.querySelector('#panel-{panel}').dataset}})")
    return {name: value if value in ("true", "false") else float(value) for name, value in read.items()}


def whole(page) -> bool:
    """Whether every rank of what is shown is outlined, as one that has all sums."""
    outlines = "(e.querySelector('.whole')?.getAttribute('d') ?? '').match(/z/g)?.length ?? 0"
    ranks = "JSON.parse(document.querySelector('#data').textContent).ranks"
    return page.evaluate(f"[...document.querySelectorAll('.moment.now')].every(e => ({outlines}) >= {ranks})")


@pytest.mark.parametrize("words", SEEN if FULL else [SEEN[0], SEEN[3]], ids=" ".join)
def test_play_runs_to_the_end_where_every_block_is_complete(page, explained, words):
    shown = page(explained(*words))
    assert state(shown)["round"] == 0 and not whole(shown)
    shown.click("#play")
    shown.wait(f"{PANEL}.dataset.round > 0")
    assert shown.evaluate(f"{PAGE}.playing") == "true"
    shown.wait(f"{PAGE}.playing === 'false'", longest_s=25)
    assert state(shown)["complete"] == "true" and state(shown)["round"] == state(shown)["rounds"]
    assert whole(shown) and shown.console() == []


@SHAPES
def test_steps_back_restore_what_was_there(page, explained, words):
    shown = page(explained(*words))
    shown.evaluate("document.body.focus()")
    moments = [shown.evaluate(PICTURE)]
    while shown.evaluate(f"!({PANEL}.dataset.complete === 'true')"):
        shown.press("ArrowRight")
        moments.append(shown.evaluate(PICTURE))
    assert len(moments) == state(shown)["rounds"] + 1 == len({json.dumps(each) for each in moments})
    for expected in moments[-2::-1]:
        shown.press("ArrowLeft")
        assert shown.evaluate(PICTURE) == expected
    shown.press("ArrowLeft")
    assert state(shown)["round"] == 0


def test_buttons_slider_and_keys_lead_to_the_same_moments(page, explained):
    shown = page(explained("ring", "-n", "4"))
    moments = {}
    for round_ in range(7):
        shown.slide("#moment", round_)
        assert state(shown)["round"] == round_
        moments[round_] = shown.evaluate(PICTURE)
    for button, round_ in (("#first", 0), ("#forward", 1), ("#forward", 2), ("#back", 1), ("#last", 6), ("#back", 5)):
        shown.click(button)
        assert shown.evaluate(PICTURE) == moments[round_]
    shown.evaluate("document.activeElement.blur()")
    for key, round_ in (("Home", 0), ("ArrowRight", 1), ("End", 6), ("ArrowLeft", 5), ("Home", 0)):
        shown.press(key)
        assert shown.evaluate(PICTURE) == moments[round_]
    shown.press(" ")
    assert shown.evaluate(f"{PAGE}.playing") == "true"
    shown.press(" ")
    assert shown.evaluate(f"{PAGE}.playing") == "false"
    shown.click("#first")
    shown.evaluate("document.querySelector('#moment').focus()")
    shown.press("ArrowRight", "ArrowRight")  # of the slider itself
    assert shown.evaluate(PICTURE) == moments[2]


def test_ring_of_four_is_the_classic_sequence(page, explained):
    shown = page(explained("ring", "-n", "4"))
    pills = f"[...{PANEL}.querySelectorAll('.now .pill text')].map(e => e.textContent).sort()"
    told = []
    for round_ in range(6):
        shown.slide("#moment", round_)
        told.append(shown.evaluate(pills))
    assert told[:2] == [["a1", "b2", "c3", "d4"], ["a1+b1", "b2+c2", "c3+d3", "d4+a4"]]
    assert told[2] == ["a1+b1+c1", "b2+c2+d2", "c3+d3+a3", "d4+a4+b4"]
    assert told[3:] == 3 * [["S1", "S2", "S3", "S4"]]


@pytest.mark.parametrize("words", [("ring", "-n", "8"), ("two_tree", "-n", "9", "--segment", "144")], ids=" ".join)
def test_totals_are_what_predict_says(page, explained, words):
    """At several places of every slider; the page says at which prices, and `predict` is asked for these."""
    name, _, ranks, *_ = words
    shown = page(explained(*words))
    totals = set()
    for alpha, bandwidth, size_bytes in ((0, 50, 3), (17, 30, 20), (40, 5, 33), (25, 31, 24)):
        for slider, value in (("#alpha", alpha), ("#bandwidth", bandwidth), ("#size_bytes", size_bytes)):
            shown.slide(slider, value)
        prices, now = shown.evaluate(f"({{...{PAGE}}})"), state(shown)
        segment = max(1, int(float(prices["sizeBytes"]) / 4))
        asked = ["predict", "-n", ranks, "-a", name, "--sizes", prices["sizeBytes"], "--segment", segment]
        rate = f"{1e-9 / float(prices['betaSPerByte']):.12f}GB/s"
        asked += ["--alpha", prices["alphaS"], "--bandwidth", rate, "--format", "json"]
        (predicted,) = json.loads(said(asked))["rows"]
        totals.add(now["totalS"])
        if size_bytes > 3 or name == "ring":  # one block of a byte or less is none that `predict` cuts
            assert now["totalS"] == pytest.approx(predicted["time_s"], rel=1e-9), (alpha, bandwidth, size_bytes)
        value, unit = shown.evaluate("document.querySelector('#totals-0 .total').textContent").split()
        assert float(value) * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}[unit] == pytest.approx(
            now["totalS"], rel=6e-3
        )
    assert len(totals) == 4


def test_it_begins_in_round_1_with_its_prices(page, explained):
    shown = page(explained("ring", "-n", "4"))
    assert shown.evaluate("document.querySelector('#status').textContent") == "round 1 of 6, 0 to 26 us of 156 us"
    assert shown.evaluate(f"{PANEL}.querySelectorAll('.now .pill text').length") == 4
    axis = shown.evaluate("document.querySelector('#axis-0').textContent")
    assert axis.startswith("round1") and axis.endswith("time: 156 us")


def test_the_address_cites_a_moment(page, explained):
    shown = page(explained("ring", "-n", "4"))
    shown.slide("#alpha", 10)
    shown.slide("#size_bytes", 25)
    shown.slide("#moment", 3)
    address, expected = shown.evaluate("location.hash"), shown.evaluate(PICTURE)
    again = page(explained("ring", "-n", "4"), fragment=address)
    assert again.evaluate(PICTURE) == expected and again.evaluate(f"{PAGE}.sizeBytes") == str(2**25)
    hostile = page(explained("ring", "-n", "4"), fragment="#round=<img src=x onerror=hacked=1>&alpha=NaN&bytes=-1")
    assert state(hostile)["round"] == 0 and state(hostile)["totalS"] > 0
    assert hostile.console() == [] and hostile.evaluate("typeof hacked") == "undefined"


@LOOKS
@SHAPES
def test_says_nothing_wrong_and_can_be_read(page, tab, explained, words, look):
    tab.emulate(**look)
    tab.open(explained(*words))
    for _ in range(2):
        letters = tab.letters()
        assert len(letters) > 4 and tab.wider() == []
        assert [one for one in letters if one["contrast"] < LEAST_CONTRAST] == []
        assert "width" not in look or [one for one in letters if one["px"] < LEAST_LETTERS_PX - 0.05] == []
        tab.slide("#moment", 2)  # with messages
    assert tab.console() == tab.requests() == []


@pytest.mark.parametrize("words", [SEEN[1], SEEN[4]], ids=" ".join)
def test_axe_finds_nothing(page, axe, explained, words):
    light = page(explained(*words), fragment="#round=2")
    assert light.axe() == []
    assert light.emulate(width=390, dark=True).axe() == []


def test_the_keyboard_reaches_everything_that_answers(page, explained):
    reached = page(explained("two_tree", "-n", "16")).tabs()
    assert len(reached) > 10 and [one["name"] for one in reached if not one["seen"]] == []


def test_nothing_moves_for_those_who_ask_for_it(page, tab, explained):
    places = f"[...{PANEL}.querySelectorAll('.now .pill')].map(e => e.getAttribute('transform'))"

    def two_moments() -> list:
        return [
            page_.evaluate(places)
            for page_ in (tab.open(explained("ring", "-n", "4"), f"#round={at}") for at in (1.2, 1.8))
        ]

    tab.emulate(still=True)
    first, second = two_moments()
    assert len(first) == 4 and first == second
    tab.emulate()
    first, second = two_moments()
    assert first != second


def test_is_whole_without_script_and_in_print(page, explained, words_of_pdf):
    plain = page(explained("ring", "-n", "4"), scripts=False)
    seen = plain.evaluate("[...document.querySelectorAll('.moment h3')].filter(e => e.checkVisibility()).length")
    assert seen == 7 and plain.evaluate("!document.querySelector('#play').checkVisibility()")
    shown = page(explained("ring", "-n", "4"))
    printed = "\n".join(words_of_pdf(shown.pdf()))
    assert all(f"Round {number} of 6" in printed for number in range(1, 7)) and "The end" in printed
    assert "a1+b1+c1" in printed and "Why 6 rounds?" in printed and "Play" not in printed
    assert shown.emulate(width=PAPER_PX, media="print").wider() == []


@pytest.mark.parametrize("name", ["ring", "two_tree", "naive"])
def test_weighs_little_and_appears_soon(page, explained, name):
    path = explained(name, "-n", "16")
    assert path.stat().st_size <= 400_000
    assert page(path).first_paint_ms() < 20_000  # on a busy machine; tests/studies/pages.py says how soon


def test_an_algorithm_of_markup_is_words(page, tmp_path):
    own = tmp_path / f"{MARKUP.replace('/', ' ')}.py"
    own.write_text(OWN)
    said(["explain", own, "-n", "4", "-o", tmp_path / "own.html"])
    for policy in (True, False):
        shown = page(tmp_path / "own.html", policy=policy)
        shown.press("End")
        assert whole(shown) and shown.console() == shown.requests() == []
        assert shown.evaluate("typeof hacked") == "undefined"
        assert shown.evaluate("document.querySelectorAll('[onerror], [onload]').length") == 0
        assert MARKUP in shown.evaluate("document.body.textContent")
