"""Write the seconds of each folder's tests into the table of tests/README.md: `seconds_of_rooms.py tests.xml`.

The file is what `make test` leaves (pytest's --junitxml).
"""

import re
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

README = Path(__file__).parents[1] / "README.md"
ROW = re.compile(r"^(\| `(?P<room>\w+(?=/)|\.)/?` \|.*\|) [^|]* \|$", re.MULTILINE)  # the last column is the seconds


def seconds_of_rooms(path: str) -> Counter[str]:
    """Folder below tests/ -> seconds of its tests, fixtures included; `.` of those in tests/ itself."""
    seconds: Counter[str] = Counter()
    for case in ElementTree.parse(path).iter("testcase"):
        parts = case.get("classname", "").removeprefix("tests.").split(".")
        seconds[parts[0] if len(parts) > 1 else "."] += float(case.get("time", 0))
    return seconds


def table_with_seconds(text: str, seconds: Counter[str]) -> str:
    """The page with the seconds of each folder that has tests in its row; without a number below half a second."""
    return ROW.sub(lambda row: f"{row[1]} {round(seconds[row['room']]) or ''} |".replace("|  |", "| |"), text)


if __name__ == "__main__":
    found = seconds_of_rooms(sys.argv[1])
    for room, room_s in found.most_common():
        print(f"{room:12} {room_s:7.1f} s")
    README.write_text(table_with_seconds(README.read_text(encoding="utf-8"), found), encoding="utf-8")
