"""The place of a run among like systems as a table with sentences, and as JSON with its schema."""

import json
from typing import Any

from ..message import say
from ..runs.json_schema.build import Format, by_name, fields, fields_of, flag, items, number, or_null, text, whole
from ..tables import UNBOUNDED, Screen, columns_of, fitted, wrapped
from ..units import few, format_size, in_ranks, printable, three_digits
from .among import UNLIKE, Place, Standing, left_out_words

SCHEMA = "urn:allreduce-bench:among:1"
HEAD = (
    "size",
    "ranks",
    "nodes",
    "timing method",
    "algorithm",
    "time us",
    "GB/s",
    "place",
    "median",
    "share",
    "best",
    "",
)
ONLY_IF_SEVERAL = (1, 2, 3, 4)  # columns
LEFT_ALIGNED, REASON = (3, 4, 11), 11


def table(found: Standing, screen: Screen = UNBOUNDED) -> str:
    """Return a row for each size, ranks and timing method that has like systems, with sentences above and below."""
    rows = [HEAD, *map(_fields, found.places)]
    constant = [number for number in ONLY_IF_SEVERAL if len({row[number] for row in rows[1:]}) == 1]
    shown = [number for number in range(len(HEAD)) if number not in constant]
    columns = columns_of(
        [[row[number] for number in shown] for row in rows],
        left=[place for place, number in enumerate(shown) if number in LEFT_ALIGNED],
        text=shown.index(REASON),
        left_out=[place for place, number in enumerate(shown) if HEAD[number] in ("time us", "best")],
        styles={},
    )
    above = wrapped([*map(printable, _lines_above(found)), say("comparison.among_columns")], screen)
    return (
        "\n".join([*above, "", *fitted(columns, screen), "", *wrapped(map(printable, sentences(found)), screen)]) + "\n"
    )


def _fields(place: Place) -> tuple[str, ...]:
    best = place.references[0]
    where = f"{best.source}, line {best.line}" if best.line else best.source
    return (
        format_size(place.nbytes),
        str(place.ranks),
        "?" if place.nodes is None else str(place.nodes),
        place.time_definition,
        place.algorithm,
        three_digits(place.time_s * 1e6),
        _gigabytes(place.busbw_bytes_per_s),
        f"{place.place} of {place.of}",
        _gigabytes(place.median_busbw_bytes_per_s),
        f"{100 * place.of_median:.0f} %",
        _gigabytes(best.busbw_bytes_per_s),
        printable(f"{where} ({best.tool})"),
    )


def _gigabytes(bytes_per_s: float) -> str:
    return three_digits(bytes_per_s / 1e9)


def _lines_above(found: Standing) -> list[str]:
    """Return the run, and what all its places have in common."""
    facts = [
        {in_ranks([place.ranks]) for place in found.places},
        {_on_nodes(place.nodes) for place in found.places},
        {place.algorithm for place in found.places},
        {say("comparison.among_timed", method=place.time_definition) for place in found.places},
    ]
    in_common = [min(values) for values in facts if len(values) == 1]
    return [f"{found.run.source}: {', '.join([found.run.tool, *in_common])}"]


def _on_nodes(nodes: int | None) -> str:
    if nodes is None:
        return say("comparison.among_nodes_unknown")
    return say("comparison.among_node") if nodes == 1 else say("comparison.among_nodes", nodes=nodes)


def sentences(found: Standing) -> list[str]:
    """Return the range of the shares of the median; what was left out; and whether the demand is met."""
    lowest, highest = (pick(found.places, key=lambda place: place.of_median) for pick in (min, max))
    said = [
        say(
            "comparison.among_range",
            lowest=100 * lowest.of_median,
            where=_where(lowest),
            highest=100 * highest.of_median,
            top=_where(highest),
        )
        if len(found.places) > 1
        else say("comparison.among_one", share=100 * lowest.of_median, where=_where(lowest))
    ]
    said += [
        say("comparison.times_not_reliable_see", run=source, in_ranks=in_ranks(ranks))
        for source, ranks in found.not_reliable.items()
    ]
    if left_out := left_out_words(found):
        said.append(left_out)
    if found.alone:
        said.append(say("comparison.among_alone", alone=found.alone, of=len(found.run.times)))
    if found.unread:
        said.append(say("comparison.among_unread", count=len(found.unread), first=few(found.unread, 1, "; ")))
    if found.copies:
        said.append(say("comparison.among_copies", count=len(found.copies), first=few(found.copies, 1, "; ")))
    if found.demanded is not None and not found.below:
        said.append(say("comparison.among_met", least=100 * found.demanded))
    return said


def failure(found: Standing) -> str:
    """Return which places are below the demanded share of the median; empty: none, or no demand."""
    if found.demanded is None or not (below := found.below):
        return ""
    words = ", ".join(
        say("comparison.among_one_below", where=_where(place), share=100 * place.of_median) for place in below[:3]
    )
    return say(
        "comparison.among_missed", count=len(below), of=len(found.places), least=100 * found.demanded, words=words
    )


def _where(place: Place) -> str:
    return f"{format_size(place.nbytes)}, {in_ranks([place.ranks])}"


def json_text(found: Standing, screen: Screen = UNBOUNDED) -> str:
    """Return an object with the run, the demand and its result, what was left out, and the places."""
    content: dict[str, Any] = {
        "schema": SCHEMA,
        "run": found.run.source,
        "tool": found.run.tool,
        "references": [{"source": system.source, "tool": system.tool} for system in found.others],
        "unlike": dict(found.unlike),
        "alone": found.alone,
        "unread": list(found.unread),
        "copies": list(found.copies),
        "min_of_median": found.demanded,
        "failed": bool(found.below),
        "failure": failure(found) or None,
        "sentences": sentences(found),
        "places": [_object(place) for place in found.places],
    }
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


FORMATS = {"table": table, "json": json_text}


def _object(place: Place) -> dict[str, Any]:
    return {**place._asdict(), "references": [reference._asdict() for reference in place.references]}


SYSTEM = fields({"source": text("run or log, of an archive with its member"), "tool": text("program that measured it")})
DOCUMENT = fields(
    {
        "schema": text("name and version of this schema", SCHEMA),
        "run": text("run or log that is placed, as it was named"),
        "tool": text("program that measured it"),
        "references": items(SYSTEM, "all systems that were named"),
        "unlike": by_name(whole(), f"systems that are nowhere like the run, by what differs: {', '.join(UNLIKE)}"),
        "alone": whole("sizes of the run, at each number of ranks, without a like system"),
        "unread": items(text(), "why files of folders were left out that could not be read"),
        "copies": items(text(), "files of folders that were left out as copies, and of which other file"),
        "min_of_median": or_null(number("the demanded share of the median; null: none", 0)),
        "failed": flag("whether a place is below the demanded share: exit status 1"),
        "failure": or_null(text("which ones; null: none")),
        "sentences": items(text(), "the result in sentences"),
        "places": items(fields(fields_of(Place)), "a place for each size, number of ranks and definition of times"),
    }
)
AMONG = Format(SCHEMA, "what among --format json prints: the place of a run among like systems", DOCUMENT)
