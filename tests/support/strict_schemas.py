"""Schemas that allow no field that they do not describe: what the program writes today is described in full."""

import json
from pathlib import Path
from typing import Any

from places import DATA, ROOT

from allreduce_bench.cli.schema import _formats
from allreduce_bench.runs.json_schema.build import Format
from allreduce_bench.runs.json_schema.check import document_violations, folder_violations

# small runs that are kept with the program
EXAMPLE = ROOT / "docs" / "example"
KEPT_RUNS = [EXAMPLE, *(path.parent for path in DATA.glob("*/run.json"))]
FORMATS = {format_.name: format_ for format_ in _formats()}


def closed(schema: Any) -> Any:
    """The schema without room for fields and values that it does not name."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {name: closed(part) for name, part in schema.items()}
    if "properties" in schema and "object" in schema.get("type", ""):
        inner["additionalProperties"] = False
    if "prefixItems" in schema:
        inner["items"] = False
    return inner


def strict(name: str) -> Format:
    """The format of this name, closed."""
    return FORMATS[name]._replace(schema=closed(FORMATS[name].schema))


def undescribed(name: str, text: str) -> list[str]:
    """What is not as the closed format says, in the text of a document."""
    return list(map(str, document_violations(strict(name), text.encode(), name)))


def undescribed_of_folder(folder: Path) -> list[str]:
    """The same of all files of a run folder, which has some."""
    checked = list(folder_violations(tuple(strict(name) for name in FORMATS), folder))
    assert len(checked) >= 3, folder
    return [str(violation) for _, violations in checked for violation in violations]


def changed(value: Any, *path: Any, to: Any) -> str:
    """A document as JSON text, with another value at `path`."""
    copy = json.loads(json.dumps(value))
    inner = copy
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = to
    return json.dumps(copy)
