"""Seconds of the tests in each folder, slowest first: run as `python tests/support/seconds_of_rooms.py tests.xml`.

The file is what `pytest --junitxml=tests.xml` writes.
"""

import sys
from collections import Counter
from xml.etree import ElementTree


def seconds_of_rooms(path: str) -> Counter[str]:
    """Folder below tests/ -> seconds of its tests, fixtures included; `.` of those in tests/ itself."""
    seconds: Counter[str] = Counter()
    for case in ElementTree.parse(path).iter("testcase"):
        parts = case.get("classname", "").removeprefix("tests.").split(".")
        seconds[parts[0] if len(parts) > 1 else "."] += float(case.get("time", 0))
    return seconds


if __name__ == "__main__":
    for room, room_s in seconds_of_rooms(sys.argv[1]).most_common():
        print(f"{room:12} {room_s:7.1f} s")
