"""One page in the browser: what it says, asks for and does when someone looks, types and points.

`python tests/support/browser_page.py PAGE [--dark] [--width 390] [--shot page.png] [--print page.pdf]` says the same of
any page on the command line.
"""

import argparse
import base64
import json
import sys
from pathlib import Path
from typing import Any

from browser import Browser, BrowserError, program, running_browser
from places import ROOT, SUPPORT

AXE = ROOT / ".axe" / "node_modules" / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
KEYS = {  # name -> virtual key code, and the text that it types
    "ArrowLeft": (37, None),
    "ArrowUp": (38, None),
    "ArrowRight": (39, None),
    "ArrowDown": (40, None),
    "Home": (36, None),
    "End": (35, None),
    "PageUp": (33, None),
    "PageDown": (34, None),
    "Tab": (9, None),
    "Escape": (27, None),
    "Enter": (13, "\r"),
    " ": (32, " "),
}
LOOKING = SUPPORT / "browser_page.js"
OWN = ("data:", "blob:", "about:")  # what a page asks itself for


class Page:
    """A tab. Whatever the page in it told since it was opened is kept."""

    def __init__(self, browser: Browser):
        self.browser = browser
        self.scripts = True  # whether those of the page run
        made = browser.command("Target.createTarget", url="about:blank")
        attached = browser.command("Target.attachToTarget", targetId=made["targetId"], flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.command(f"{domain}.enable")
        self.command("Emulation.setFocusEmulationEnabled", enabled=True)
        self.emulate()

    def command(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command of the protocol to this page. Raises BrowserError."""
        return self.browser.command(method, self.session, **parameters)

    def open(self, path: Path, fragment: str = "", policy: bool = True, scripts: bool = True) -> "Page":
        """Load a file and wait until it is whole.

        Without `policy` its content security policy protects nothing, without `scripts` none of it runs.
        """
        self.command("Page.setBypassCSP", enabled=not policy)
        self.command("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.scripts = scripts
        for url in ("about:blank", path.resolve().as_uri() + fragment):  # another fragment alone would load nothing
            self.browser.events.clear()
            self.command("Page.navigate", url=url)
            self.browser.event("Page.loadEventFired", self.session)
        return self

    def emulate(
        self,
        width: int = 1280,
        height: int = 900,
        dark: bool = False,
        still: bool = False,
        media: str = "",
    ) -> "Page":
        """What it is shown on, in CSS pixels; `still`: to someone who asks for no motion; `media`: always `print`."""
        features = [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if still else "no-preference"},
        ]
        self.command("Emulation.setEmulatedMedia", media=media, features=features)
        size = {"width": width, "height": height, "deviceScaleFactor": 1}
        self.command("Emulation.setDeviceMetricsOverride", **size, mobile=False)
        self.wait(f"innerWidth === {width}")  # a busy machine lays out later, and tells scripts with the next frame
        if self.scripts:
            self.look("frames(0)")
        return self

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression, of a promise the value it comes to. Raises BrowserError."""
        said = self.command("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in said:
            details = said["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description") or details["text"])
        return said["result"].get("value")

    def wait(self, expression: str, longest_s: float = 10.0) -> None:
        """Until an expression is true. Raises BrowserError after `longest_s`."""
        try:
            self.look(f"until(() => ({expression}), {longest_s * 1000})")
        except BrowserError as error:
            raise BrowserError(f"waited for {expression}: {error}") from None

    def look(self, call: str) -> Any:
        """What a function of browser_page.js says. Raises BrowserError."""
        if not self.evaluate("typeof looking === 'object'"):
            self.evaluate(LOOKING.read_text(encoding="utf-8") + "; 0")
        return self.evaluate(f"looking.{call}")

    def press(self, *keys: str) -> None:
        """Press and release keys: those of KEYS, or letters."""
        for key in keys:
            code, text = KEYS.get(key, (ord(key.upper()[0]), key))
            what = {"key": key, "windowsVirtualKeyCode": code, "code": "Space" if key == " " else key}
            typed = {"text": text} if text else {}
            self.command("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **what, **typed)
            self.command("Input.dispatchKeyEvent", type="keyUp", **what)

    def place(self, selector: str) -> tuple[float, float]:
        """The middle of the first element for a selector, scrolled into view, in CSS pixels. Raises BrowserError."""
        found = self.evaluate(f"""(() => {{
          const e = document.querySelector({json.dumps(selector)});
          if (!e) return null;
          e.scrollIntoView({{block: 'center', inline: 'center', behavior: 'instant'}});
          const box = e.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2];
        }})()""")
        if found is None:
            raise BrowserError(f"nothing is {selector}")
        return tuple(found)

    def hover(self, selector: str) -> None:
        """Move the pointer to the middle of an element, from somewhere else."""
        x, y = self.place(selector)
        self.command("Input.dispatchMouseEvent", type="mouseMoved", x=0, y=0)
        self.command("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, selector: str) -> None:
        """Click in the middle of an element."""
        x, y = self.place(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.command("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def slide(self, selector: str, value: float) -> None:
        """Set an input as a user would who drags it: it hears `input` and `change`."""
        self.evaluate(f"""(() => {{
          const e = document.querySelector({json.dumps(selector)}); e.value = {value!r};
          for (const kind of ['input', 'change']) e.dispatchEvent(new Event(kind, {{bubbles: true}}));
        }})()""")

    def told(self, *methods: str) -> list[dict[str, Any]]:
        """The events of these names since the page was opened, all that came up to now."""
        self.evaluate("0")  # what was told before this comes before its answer
        return [event for event in self.browser.events if event["method"] in methods]

    def console(self) -> list[str]:
        """Warnings, errors, exceptions and whatever else went to the console, refusals of the policy among them."""
        said = []
        for event in self.told("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            what = event["params"]
            if "args" in what:
                said.append(" ".join(str(one.get("value", one.get("description"))) for one in what["args"]))
            elif "exceptionDetails" in what:
                details = what["exceptionDetails"]
                said.append(details.get("exception", {}).get("description") or details["text"])
            else:
                said.append(what["entry"]["text"])
        return said

    def requests(self) -> list[str]:
        """The addresses that the page asked for, itself and what it holds within left out."""
        told = self.told("Network.requestWillBeSent", "Network.webSocketCreated")
        urls = [event["params"].get("request", event["params"])["url"] for event in told]
        return [url for url in urls[1:] if not url.startswith(OWN)]

    def axe(self) -> list[str]:
        """What axe-core finds, a line each: the rule, what is wrong, where. Needs AXE."""
        if not self.evaluate("typeof axe === 'object'"):
            self.evaluate(AXE.read_text(encoding="utf-8") + "; 0")
        found = self.evaluate(f"axe.run({{runOnly: {json.dumps(RULES)}, preload: false}}).then(r => r.violations)")
        return [
            f"{rule['id']}: {rule['help']}: {len(rule['nodes'])} times: "
            + "; ".join(
                f"{node['target'][0]} ({' '.join(node['failureSummary'].split())})"[:300] for node in rule["nodes"][:3]
            )
            for rule in found
        ]

    def letters(self) -> list[dict[str, Any]]:
        """Every text of every drawing that can be seen: `text`, its size `px` on the screen, and its `contrast`."""
        return self.look("letters()")

    def image_letters(self) -> list[dict[str, Any]]:
        """The smallest letters of every image of SVG: `text` is what the image is said to show, `px` their size."""
        return self.look("imageLetters()")

    def tabs(self, most: int = 500) -> list[dict[str, Any]]:
        """Who is reached by Tab, in order: `name`, and whether it is `seen` that it is."""
        reached: list[dict[str, Any]] = []
        self.evaluate("document.activeElement.blur()")
        for _ in range(most):
            self.press("Tab")
            if (now := self.look("focused()"))["end"]:
                break
            reached.append(now)
        return reached

    def wider(self) -> list[str]:
        """The elements that end beyond the right edge of the page and cannot be scrolled to."""
        return self.look("wider()")

    def frame_times_ms(self, seconds: float = 1.0) -> list[float]:
        """How long each frame took, in milliseconds, for so many seconds."""
        times = self.look(f"frames({seconds * 1000})")
        return [after - before for before, after in zip(times, times[1:])]

    def first_paint_ms(self) -> float:
        """When the first words or lines were painted, in milliseconds since the page was asked for."""
        self.wait("performance.getEntriesByName('first-contentful-paint').length")
        return self.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")

    def screenshot(self, path: Path, whole: bool = False) -> None:
        """What can be seen as a PNG, the whole page where asked for."""
        shot = self.command("Page.captureScreenshot", captureBeyondViewport=whole, **self._clip(whole))
        path.write_bytes(base64.b64decode(shot["data"]))

    def _clip(self, whole: bool) -> dict[str, Any]:
        if not whole:
            return {}
        size = self.command("Page.getLayoutMetrics")["cssContentSize"]
        return {"clip": {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 16000), "scale": 1}}

    def pdf(self) -> bytes:
        """The page as it is printed on A4, backgrounds left out as printers do."""
        self.command("Emulation.setEmulatedMedia", media="print")  # whatever was emulated before
        paper = {"paperWidth": 8.27, "paperHeight": 11.69}
        return base64.b64decode(self.command("Page.printToPDF", **paper)["data"])


def main() -> None:
    """Say what a page does in the browser, and show it."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--still", action="store_true", help="for someone who asks for no motion")
    parser.add_argument("--width", type=int, default=1280)
    parser.add_argument("--height", type=int, default=900)
    parser.add_argument("--fragment", default="", help="#… after the address")
    parser.add_argument("--do", action="append", default=[], help="JavaScript to evaluate and print, several times")
    parser.add_argument("--shot", type=Path, help="write a PNG of what can be seen")
    parser.add_argument("--whole", action="store_true", help="… of the whole page")
    parser.add_argument("--print", type=Path, dest="pdf", help="write a PDF")
    given = parser.parse_args()
    with running_browser(program() or sys.exit("no browser")) as browser:
        page = Page(browser).emulate(given.width, given.height, given.dark, given.still)
        page.open(given.page, given.fragment)
        for expression in given.do:
            print(json.dumps(page.evaluate(expression)))
        if given.shot:
            page.screenshot(given.shot, given.whole)
        print("first paint:", round(page.first_paint_ms()), "ms")
        print("console:", page.console())
        print("requests:", page.requests())
        print("beyond the edge:", page.wider())
        letters = page.letters()
        print("faint letters in drawings:", [one for one in letters if one["contrast"] < 4.5][:10])
        for kind, those in (("drawings", letters), ("images", page.image_letters())):
            print(f"smallest letters in {kind}:", sorted(those, key=lambda one: one["px"])[:5])
        print("reached by Tab without a sign:", [one["name"] for one in page.tabs() if not one["seen"]])
        print(*(page.axe() if AXE.exists() else ["no axe-core: make .axe/stamp"]), sep="\n")
        if given.pdf:
            given.pdf.write_bytes(page.pdf())


if __name__ == "__main__":
    main()
