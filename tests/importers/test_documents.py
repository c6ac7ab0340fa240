"""JSON documents, plain and packed: told by their heads, and refused in one sentence."""

import gzip

import pytest

from allreduce_bench.importers import LogError
from allreduce_bench.importers.lines import document_of, head_of, text_of, whole_of


def test_plain_and_packed_are_the_same(tmp_path):
    (tmp_path / "a.json").write_text('\ufeff{"a": 1}')
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(b'{"a": 1}'))
    assert document_of(tmp_path / "a.json") == document_of(tmp_path / "a.json.gz") == {"a": 1}
    assert head_of(tmp_path / "a.json.gz") == b'{"a": 1}'


@pytest.mark.parametrize(
    "content, said",
    [
        (b'{"a": [1, 2', "line 1: damaged JSON, or cut off"),
        (b'{"a": 1}\n{"b": 2}', "line 2: damaged JSON, or cut off"),
        (b"[" * 10**6, "line 1: damaged JSON"),
        (b"[" + b"9" * 10**5 + b"]", "line 1: damaged JSON"),
        (gzip.compress(bytes(range(256)) * 9, mtime=0)[:40], "packed by gzip and damaged or cut off"),
        (gzip.compress(b" " * 3000, mtime=0), "more than 2,000 bytes, the largest size that is read"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(tmp_path, content, said):
    (tmp_path / "x.json").write_bytes(content)
    most = 2000 if b"2,000" in said.encode() else 10**7
    with pytest.raises(LogError, match=said) as error:
        document_of(tmp_path / "x.json", most)
    assert str(error.value).isprintable()


def test_values_are_checked():
    assert whole_of({"n": "31"}, "n", "x") == whole_of({"n": 31}, "n", "x") == 31
    assert whole_of({}, "n", "x", default=4) == 4 and text_of({"t": "a\x1b\n"}, "t") == "a??" and text_of({}, "t") == ""
    for value in (True, 1.5, None, "1e3", -1, 10**18, [1]):
        with pytest.raises(LogError, match="x: n is.*expected a whole"):
            whole_of({"n": value}, "n", "x")
