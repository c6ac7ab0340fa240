"""Building blocks of JSON Schemas, written by hand or derived from the types that the program itself reads with.

Only keywords of draft 2020-12 (https://json-schema.org/draft/2020-12). Objects stay open: see PROMISE.
"""

from collections.abc import Collection, Mapping
from dataclasses import is_dataclass
from types import UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from ..schema import LAYOUT
from ..typed_json import field_names, later_names

LAYOUTS = tuple(range(1, LAYOUT + 1))  # versions of the layout that the schemas of a run folder describe
DIALECT = "https://json-schema.org/draft/2020-12/schema"
PROMISE = (
    "Within a version no field is removed, and its name, type, unit and meaning do not change; an enum gets no further "
    "value. Fields may be added: readers ignore those that they do not know. Every other change raises the version."
)
TYPES = {str: "string", bool: "boolean", int: "integer", float: "number"}
Schema = dict[str, Any]
Meanings = Mapping[str, str]  # `Plan.sizes` -> its meaning
NO_MEANINGS: Meanings = {}


class Format(NamedTuple):
    """A file, or the output of a command, and its schema."""

    id: str  # of `schema_id`
    title: str  # one line
    schema: Schema  # of the whole document; of a CSV of one row
    files: tuple[str, ...] = ()  # patterns of its files below a run folder; none: a command writes it where it is told
    is_csv: bool = False

    @property
    def name(self) -> str:
        """Name, such as `run`."""
        return self.id.split(":")[-2]

    @property
    def version(self) -> int:
        """Version of the format."""
        return int(self.id.split(":")[-1])

    def document(self) -> Schema:
        """Return the schema with its name, version and promise."""
        head = {"$schema": DIALECT, "$id": self.id, "title": self.title, "$comment": PROMISE}
        return {**head, **self.schema}


def schema_id(name: str, version: int) -> str:
    """Return `urn:allreduce-bench:run:3`."""
    return f"urn:allreduce-bench:{name}:{version}"


def kept_file(required: Mapping[str, Schema], optional: Mapping[str, Schema]) -> Schema:
    """Return the schema of a JSON file of a run folder: with its layout, and from version 4 on a checksum at its
    end.
    """
    layout = whole("version of the layout of run folders") | {"enum": list(LAYOUTS)}
    end = {"crc32": crc32("CRC-32 of all bytes of the file before this value; absent: layout 3")}
    return {
        **fields({"schema_version": layout, **required}, {**optional, **end}),
        "if": {"properties": {"schema_version": {"maximum": 3}}},
        "else": {"required": ["crc32"]},
    }


def crc32(meaning: str) -> Schema:
    """Return the schema of a CRC-32 (IEEE 802.3) as text."""
    return text(f"{meaning}; eight hexadecimal digits") | {"pattern": "^[0-9a-f]{8}$"}


def text(meaning: str = "", *among: str) -> Schema:
    """Return the schema of a text, one of those `among` if given."""
    return _described({"type": "string", **({"enum": list(among)} if among else {})}, meaning)


def whole(meaning: str = "", least: int | None = 0) -> Schema:
    """Return the schema of an integer."""
    return _described({"type": "integer", **({} if least is None else {"minimum": least})}, meaning)


def number(meaning: str = "", least: float | None = None) -> Schema:
    """Return the schema of a number."""
    return _described({"type": "number", **({} if least is None else {"minimum": least})}, meaning)


def flag(meaning: str = "") -> Schema:
    """Return the schema of true or false."""
    return _described({"type": "boolean"}, meaning)


def items(of: Schema, meaning: str = "") -> Schema:
    """Return the schema of a list."""
    return _described({"type": "array", "items": of}, meaning)


def by_name(of: Schema, meaning: str = "") -> Schema:
    """Return the schema of an object whose names are data: hosts, variables, numbers of ranks."""
    return _described({"type": "object", "additionalProperties": of}, meaning)


def fields(required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None, meaning: str = "") -> Schema:
    """Return the schema of an object with these fields and perhaps others."""
    content = {"type": "object", "required": list(required), "properties": {**required, **(optional or {})}}
    return _described(content, meaning)


def or_null(schema: Schema) -> Schema:
    """Return the schema extended by null: not known, or none."""
    changed = {**schema, "type": [schema["type"], "null"]}
    return {**changed, "enum": [*schema["enum"], None]} if "enum" in schema else changed


def _described(schema: Schema, meaning: str) -> Schema:
    return {"description": meaning, **schema} if meaning else schema


def of_type(hint: Any, meanings: Meanings = NO_MEANINGS, as_lists: bool = False) -> Schema:
    """Return the schema of what `runs.typed_json` reads as `hint`, and `dataclasses.asdict` writes of it.

    Every field of every dataclass and named tuple in it has a meaning: a text in its `Annotated`, or one of `meanings`.
    Named tuples are objects, or lists of their values (`as_lists`), as json writes them. Raises KeyError for a field
    without a meaning.
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        schema = of_type(arguments[0], meanings, as_lists)
        for rule in arguments[1:]:
            schema = _described(schema, rule) if isinstance(rule, str) else schema | getattr(rule, "keywords", {})
        return schema
    if origin in (UnionType, Union):
        return or_null(of_type(arguments[0], meanings, as_lists))
    if origin is tuple and arguments[-1] is not ...:
        return {"type": "array", "prefixItems": [of_type(item, meanings, as_lists) for item in arguments]}
    if origin is tuple:
        return items(of_type(arguments[0], meanings, as_lists))
    if origin is dict:
        return by_name(of_type(arguments[1], meanings, as_lists))
    if hint is Any:
        return {}
    return {"type": TYPES[hint]} if hint in TYPES else _of_class(hint, meanings, as_lists)


def _of_class(kind: Any, meanings: Meanings, as_lists: bool) -> Schema:
    schemas = fields_of(kind, meanings, as_lists)
    if as_lists and not is_dataclass(kind):
        return {"type": "array", "prefixItems": list(schemas.values()), "minItems": len(schemas)}
    optional = {name: schemas.pop(name) for name in list(schemas) if name in later_names(kind)}
    return fields(schemas, optional)


def fields_of(
    kind: Any, meanings: Meanings = NO_MEANINGS, as_lists: bool = False, without: Collection[str] = ()
) -> dict[str, Schema]:
    """Return the schemas of the fields of a dataclass or a named tuple by name, except `without`: see `of_type`."""
    hints, (names, _) = get_type_hints(kind, include_extras=True), field_names(kind)
    schemas = {name: of_type(hints[name], meanings, as_lists) for name in names if name not in without}
    return {
        name: schema if "description" in schema else _described(schema, meanings[f"{kind.__name__}.{name}"])
        for name, schema in schemas.items()
    }
