"""The lines of a log."""

from pathlib import Path

import pytest

from allreduce_bench.importers import LogError, LogWarning
from allreduce_bench.importers.lines import Log, dropped, is_cut, lines_of, read_text

SHORT = "too short"


def test_lines_have_their_numbers_and_no_prefix_of_a_launcher():
    log = Log(Path("a.log"), "[1,0]<stdout>: one  \r\n3: two\nthree")
    assert [(line.number, line.text, line.ended) for line in log.lines] == [
        (1, "one", True),
        (2, "two", True),
        (3, "three", False),
    ]
    assert log.file == "a.log"


def test_only_a_last_line_without_an_end_can_be_cut():
    ended, open_line = lines_of("1234\n12")
    assert is_cut(open_line, 4) and not is_cut(open_line, 2) and not is_cut(ended, 9)
    with pytest.warns(LogWarning, match=f"a.log, line 2: {SHORT}; left out"):
        dropped("a.log", open_line, SHORT)


@pytest.mark.parametrize("content, words", [(b"\x1f\x8b\x08", "gzip"), (b" \n", "empty"), (b"a\n\0", "line 2: binary")])
def test_what_is_no_text_is_refused(tmp_path, content, words):
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(LogError, match=words):
        read_text(tmp_path / "a")
