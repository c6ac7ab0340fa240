"""What the tests of this folder look for is found on a page that is full of it."""

import pytest
from browser import BrowserError

NOT_DEFINED = "{} is not defined"  # as browsers say it

FAULTY = """<!DOCTYPE html>
<html lang="en"><head><title>faulty</title>
<style>body { background: #fff } @media (prefers-color-scheme: dark) { body { background: #000 } }</style></head>
<body><img src="http://elsewhere.example/x.png"><p style="color: #aaa">faint</p><p style="width: 3000px">wide</p>
<svg width="99" height="40"><rect width="99" height="40" fill="#000"/><text y="20" fill="#333" font-size="8">ab</text>
</svg><input id="typed"><button onclick="clicked = true" onmouseover="pointed = true">x</button>
<script>console.error('wrong', 7); setTimeout(() => undefinedName.x, 0); fetch('https://other.example/');
document.addEventListener('keydown', event => { last = event.key; });</script></body></html>"""

CLEAN = """<!DOCTYPE html>
<html lang="en"><head><title>clean</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'"></head>
<body><main><h1>clean</h1><img alt="a dot" src="data:image/gif;base64,R0lGODlhAQABAIAAAAUEBAAAACwAAAAAAQABAAACAkQBADs=">
<script>executed = true</script></main></body></html>"""


@pytest.fixture
def faulty(page, tmp_path):
    (tmp_path / "faulty.html").write_text(FAULTY)
    return page(tmp_path / "faulty.html")


@pytest.fixture
def clean(tmp_path):
    (tmp_path / "clean.html").write_text(CLEAN)
    return tmp_path / "clean.html"


def test_the_console(faulty):
    faulty.wait("document.images[0].complete")
    said = "\n".join(faulty.console())
    assert "wrong 7" in said and NOT_DEFINED.format("undefinedName") in said


def test_requests(faulty):
    assert {"http://elsewhere.example/x.png", "https://other.example/"} <= set(faulty.requests())


def test_what_is_faint_wide_and_small(faulty):
    assert [element[:2] for element in faulty.wider()] == ["p."]
    (letters,) = faulty.letters()
    assert letters["text"] == "ab" and letters["px"] == pytest.approx(8)
    assert letters["contrast"] == pytest.approx(1.66, abs=0.01)


def test_axe(faulty, axe):
    rules = {line.partition(":")[0] for line in faulty.axe()}
    assert {"color-contrast", "image-alt", "label", "landmark-one-main"} <= rules - {"button-name"} | {"button-name"}


def test_what_users_do(faulty):
    faulty.click("#typed")
    faulty.press("a", " ", "b", "ArrowLeft")
    assert faulty.evaluate("document.querySelector('#typed').value") == "a b"
    assert faulty.evaluate("last") == "ArrowLeft"
    faulty.hover("button")
    assert faulty.evaluate("pointed && typeof clicked === 'undefined'")
    faulty.click("button")
    assert faulty.evaluate("clicked")


def test_what_is_emulated(faulty):
    background = "getComputedStyle(document.body).backgroundColor"
    assert faulty.evaluate(background) == "rgb(255, 255, 255)"
    faulty.emulate(width=390, dark=True, still=True, media="print")
    assert faulty.evaluate(background) == "rgb(0, 0, 0)" and faulty.evaluate("innerWidth") == 390
    assert faulty.evaluate("matchMedia('print').matches && matchMedia('(prefers-reduced-motion: reduce)').matches")


SLOW = """<!DOCTYPE html><html lang="en"><title>slow</title><script>
const narrow = matchMedia("(max-width: 600px)"), slow = () => {
  for (const began = performance.now(); performance.now() - began < 100;);
  requestAnimationFrame(slow);
};
narrow.addEventListener("change", () => { told = true; });
slow();
</script></html>"""


def test_a_page_that_is_slow_to_draw_has_heard_of_its_width(page, tmp_path):
    (tmp_path / "slow.html").write_text(SLOW)
    for _ in range(10):
        slow = page(tmp_path / "slow.html").emulate(width=390)
        assert slow.evaluate("typeof told") == "boolean"
        slow.emulate()


def test_what_is_printed_and_drawn(faulty, words_of_pdf):
    assert "faint" in words_of_pdf(faulty.pdf())[0]
    assert len(faulty.frame_times_ms(0.1)) > 0
    assert 0 < faulty.first_paint_ms() < 60_000


def test_faults_of_scripts_are_errors(faulty):
    with pytest.raises(BrowserError, match="ReferenceError: " + NOT_DEFINED.format("missing")):
        faulty.evaluate("missing + 1")
    with pytest.raises(BrowserError, match="waited for 1 > 2: .*too late"):
        faulty.wait("1 > 2", longest_s=0.05)
    with pytest.raises(BrowserError, match="nothing is #absent"):
        faulty.click("#absent")


def test_a_clean_page(page, clean, axe):
    clean_page = page(clean, policy=False)
    assert clean_page.console() == clean_page.requests() == clean_page.axe() == clean_page.wider() == []
    assert clean_page.evaluate("executed")


def test_what_the_policy_forbids_is_told(page, clean):
    protected = page(clean)
    assert protected.evaluate("typeof executed") == "undefined"
    assert any("Content Security Policy" in line for line in protected.console())
