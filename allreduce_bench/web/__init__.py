"""Foundation of all HTML pages: theme, inline assets, a content security policy by hash, safe script data.

In: texts and package files. Out: CSS, a policy, template engines. Colours suit light and dark paper, and print. Each
page is one file with its styles and scripts inside; the policy names them by hash, so that no other code runs. The
files are package data beside this one.
"""

import json
import re
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")  # terminals, order of words
SCRIPT_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def asset(package: str, *names: str) -> Markup:
    """Return the joined text of a package's style or script files, to insert unescaped into pages."""
    return Markup("\n".join((files(package) / name).read_text(encoding="utf-8").strip() for name in names))


def theme() -> Markup:
    """Return the style that all pages share."""
    return asset(__package__, "theme.css")


def policy(styles: Sequence[str], scripts: Sequence[str]) -> str:
    """Return the content security policy of a page with these styles and scripts, each its element's whole text.

    No other code runs and nothing is loaded; pictures may be embedded as data. Links with `download` may hold data:
    browsers save it and never open it as a page. `style` attributes in its HTML have no
    effect.
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


SAFE = " !$&'()*+,/:;=?@[]^`{|}~"  # letters of a data: URI that browsers take as they stand


def data_address(media_type: str, content: bytes) -> str:
    """Return `content` as a data: URI, for a picture or a link that saves it: pages need no file beside them."""
    return f"data:{media_type},{quote(content, safe=SAFE)}"


def engine(package: str) -> Environment:
    """Return the template engine for a package's `templates`: it escapes all texts and rejects undefined names."""
    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        finalize=without_controls,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def script_data(value: object) -> Markup:
    """Return JSON for `<script type="application/json">`, escaped so that no text can end the element."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return Markup("".join(SCRIPT_ESCAPES.get(letter, letter) for letter in text))


def without_controls(value: object) -> object:
    """Replace control characters, for terminals or text direction, in a text from outside; return others unchanged."""
    return type(value)(CONTROLS.sub("\N{REPLACEMENT CHARACTER}", value)) if isinstance(value, str) else value


def _hashes(texts: Sequence[str]) -> str:
    hashes = (b64encode(sha256(text.encode()).digest()).decode() for text in texts)
    return " ".join(f"'sha256-{one}'" for one in hashes) or "'none'"
