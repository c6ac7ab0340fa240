"""One page, one file: styles and scripts stand inside, and a policy names them by hash, so that no others run."""

import json
import re
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")  # terminals, order of words
SCRIPT_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def asset(package: str, *names: str) -> Markup:
    """The text of style or script files of a package, one after the other; it stands in pages as it is."""
    return Markup("\n".join((files(package) / name).read_text(encoding="utf-8").strip() for name in names))


def theme() -> Markup:
    """The style that all pages share."""
    return asset(__package__, "theme.css")


def policy(styles: Sequence[str], scripts: Sequence[str]) -> str:
    """The content security policy of a page that holds these styles and scripts, each the whole text of its element.

    Nothing else runs and nothing is loaded from anywhere; pictures may stand in the page as data. `style` attributes
    in its HTML have no effect.
    """
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hashes(scripts)}",
            f"style-src {_hashes(styles)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def engine(package: str) -> Environment:
    """The template engine for the folder `templates` of a package: it escapes all texts and knows no undefined name."""
    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        finalize=without_controls,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def script_data(value: object) -> Markup:
    """JSON for `<script type="application/json">`: whatever its texts are, they do not end the element."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return Markup("".join(SCRIPT_ESCAPES.get(letter, letter) for letter in text))


def without_controls(value: object) -> object:
    """A text from outside without the characters that steer a terminal or turn words round; anything else as it is."""
    return type(value)(CONTROLS.sub("\N{REPLACEMENT CHARACTER}", value)) if isinstance(value, str) else value


def _hashes(texts: Sequence[str]) -> str:
    hashes = (b64encode(sha256(text.encode()).digest()).decode() for text in texts)
    return " ".join(f"'sha256-{one}'" for one in hashes) or "'none'"


# What every page of HTML shares: colours on light and dark paper, print, and a policy that runs no code but its own.
#
# In: nothing. Out: CSS, a policy, data that is safe inside a script. Its files are package data beside this one.
