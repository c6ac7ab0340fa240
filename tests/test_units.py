"""The units people read and write."""

import re
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allreduce_bench.units import (
    algbw,
    busbw,
    format_bandwidth,
    format_duration,
    format_long_time,
    format_ranges,
    format_size,
    format_time,
    parse_counts,
    parse_duration,
    parse_price,
    parse_rate,
    parse_share,
    parse_size,
    parse_width,
    shell_word,
    three_digits,
    unknown_word,
)


@pytest.mark.parametrize(
    "text, size_bytes",
    [
        ("0", 0),
        ("4k", 4096),
        ("16MiB", 16 << 20),
        ("1.5G", 3 << 29),
        ("0.5 KiB", 512),
        (" 2 MB ", 2 << 20),
    ],
)
def test_sizes_are_in_powers_of_1024(text, size_bytes):
    assert parse_size(text) == size_bytes


@pytest.mark.parametrize("text", ["", "x", "-1", "1.5", "0.0001K", "4T", "4KK", "1e3", "1,5K", "nan", "inf", "9" * 400])
def test_what_is_no_size_is_refused_by_its_name(text):
    with pytest.raises(ValueError, match=re.escape(f"'{text}' is not") + ".*optional K"):
        parse_size(text)


@pytest.mark.parametrize("unit, factor", [("KiB", 1024), ("MiB", 1024**2), ("GiB", 1024**3)])
@given(number=st.integers(1, 999))
def test_a_formatted_size_is_read_back(unit, factor, number):
    assert format_size(number * factor) == f"{number} {unit}"
    assert parse_size(format_size(number * factor)) == number * factor


@pytest.mark.parametrize(
    "size_bytes, text", [(0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (1536, "1.5 KiB"), (1 << 31, "2 GiB")]
)
def test_sizes_are_printed_with_the_largest_unit_that_fits(size_bytes, text):
    assert format_size(size_bytes) == text


@pytest.mark.parametrize(
    "text, seconds", [("90", 90), ("1m30s", 90), ("500ms", 0.5), ("1.5h", 5400), ("1min", 60), ("30 sec", 30)]
)
def test_durations(text, seconds):
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text, seconds", [("5us", 5e-6), ("0.08 ns", 8e-11), ("8e-11", 8e-11), (".5s", 0.5)])
def test_prices(text, seconds):
    assert parse_price(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "0", "0us", "-5us", "5 m", "1e999", "nan", "inf", "5us2", "e-6"])
def test_what_is_no_price_is_refused_by_its_name(text):
    with pytest.raises(ValueError, match=re.escape(f"'{text}' is not") + r".*0\.08ns"):
        parse_price(text)


@pytest.mark.parametrize("text", ["", "s", "x", "1d", "-5s", "1m 30q", "m5"])
def test_what_is_no_duration_is_refused_by_its_name(text):
    with pytest.raises(ValueError, match=re.escape(f"'{text}' is not") + ".*duration"):
        parse_duration(text)


def test_a_duration_has_an_end():
    with pytest.raises(ValueError, match="is longer"):
        parse_duration("9" * 400)


@pytest.mark.parametrize("text", ["-25Gbit", "0Gbit", "25", "much", "-3", "0", "", "1G", "10Gbit,"])
def test_what_is_no_rate_is_refused_by_its_name(text):
    with pytest.raises(ValueError, match=re.escape(f"'{text}' is not a rate")):
        parse_rate(text)


@pytest.mark.parametrize(
    ("text", "meant"), [("25G", "25Gbit or 25GB/s"), ("2.5", "2.5Gbit or 2.5GB/s"), ("x", "a value"), ("0", "a value")]
)
def test_a_rate_without_its_unit_is_answered_by_the_two_that_it_may_mean(text, meant):
    with pytest.raises(ValueError, match=f"expected {re.escape(meant)}"):
        parse_rate(text)


@pytest.mark.parametrize("text", ["84", "84pt", "mm", "-84mm", "1mm", "4000mm", "1e3mm", ""])
def test_what_is_no_width_is_refused_by_its_name(text):
    with pytest.raises(ValueError, match=re.escape(f"'{text}' is not") + r".*8\.4cm"):
        parse_width(text)


@pytest.mark.parametrize("text", ["0", "0%", "100%", "1", "-5%", "nan", "five"])
def test_what_is_no_share_is_refused_by_its_name(text):
    with pytest.raises(ValueError, match=re.escape(f"'{text}' is not a share") + ".*less than 100%"):
        parse_share(text)


@pytest.mark.parametrize(
    "text, numbers",
    [
        ("1-4", [1, 2, 3, 4]),
        ("8, 1-3", [1, 2, 3, 8]),
        ("3,2-4,3", [2, 3, 4]),
    ],
)
def test_counts_are_ascending_and_without_repetition(text, numbers):
    assert parse_counts(text) == numbers


@pytest.mark.parametrize(
    "text, words",
    [
        ("", "whole numbers"),
        ("1,,2", "whole numbers"),
        ("1.5", "whole numbers"),
        ("0", "rank is needed"),
        ("0-4", "rank is needed"),
        ("8-2", "the range 8-2 is empty"),
    ],
)
def test_wrong_counts_are_refused_in_words(text, words):
    with pytest.raises(ValueError, match=words):
        parse_counts(text)


@pytest.mark.parametrize(
    ("word", "known", "line"),
    [
        ("rign", ["naive", "ring", "tree"], "unknown thing 'rign'; did you mean ring? 'list' shows all"),
        ("SUM", ["sum", "avg"], "unknown thing 'SUM'; did you mean sum? 'list' shows all"),
        ("ab3", ["ab1", "ab2"], "unknown thing 'ab3'; did you mean ab1 or ab2? 'list' shows all"),
        ("a" * 5, ["aaaa1", "aaaa2", "aaaa3", "aaaa4"], "unknown thing 'aaaaa'; 'list' shows all"),
        ("x", ["ring"], "unknown thing 'x'; 'list' shows all"),
    ],
)
def test_of_an_unknown_word_the_nearest_known_one_is_said(word, known, line):
    assert unknown_word("thing", word, known, "'list' shows all") == line
    assert unknown_word("thing", word, known) == line.replace("'list' shows all", f"known: {', '.join(known)}")


@given(st.floats(1e-6, 1e7))
def test_three_digits_are_close_and_without_exponent(value):
    text = three_digits(value)
    assert re.fullmatch(r"\d+(\.\d+)?", text)
    assert float(text) == pytest.approx(value, rel=0.0051)


@pytest.mark.parametrize(
    "value, text",
    [(0.954, "0.954"), (1.0, "1.00"), (27.0, "27.0"), (100, "100"), (19598.4, "19598"), (0.001, "0.00100"), (0, "0")],
)
def test_three_digits(value, text):
    assert three_digits(value) == text


@pytest.mark.parametrize(
    "time_s, text",
    [
        (9.8e-6, "9.80 us"),
        (2.15e-3, "2.15 ms"),
        (1.1, "1.10 s"),
        (1e-3, "1.00 ms"),
    ],
)
def test_times(time_s, text):
    assert format_time(time_s) == text


@pytest.mark.parametrize("time_s, text", [(0.0012, "1.20 ms"), (59.9, "59.9 s"), (720, "12.0 min"), (86400, "24.0 h")])
def test_long_times(time_s, text):
    assert format_long_time(time_s) == text


@pytest.mark.parametrize("seconds, text", [(0, "0:00"), (65, "1:05"), (59.6, "1:00"), (3600, "60:00")])
def test_progress_shows_minutes_and_seconds(seconds, text):
    assert format_duration(seconds) == text


def test_bandwidths_are_those_of_nccl_tests():
    assert algbw(8e9, 2.0) == 4e9
    assert busbw(8e9, 2.0, 4) == pytest.approx(6e9)  # factor 2(p-1)/p
    assert busbw(8e9, 2.0, 2) == algbw(8e9, 2.0)
    assert busbw(8e9, 2.0, 1) == 0


@given(st.sets(st.integers(0, 300)))
def test_ranges_name_every_number_once(numbers):
    words = format_ranges(numbers)
    spans = [list(map(int, word.split("-"))) for word in words.split(",") if word]
    assert {number for span in spans for number in range(span[0], span[-1] + 1)} == numbers
    assert all(later[0] > earlier[-1] + 1 for earlier, later in zip(spans, spans[1:]))


def test_ranges_are_written_as_the_system_writes_them():
    assert format_ranges([3, 0, 1, 2, 8]) == "0-3,8" and format_ranges([]) == "" and format_ranges([5, 6]) == "5-6"


@pytest.mark.parametrize(
    ("path", "word"),
    [("results/a", "results/a"), ("a b$(id)", "a b$(id)"), ("-x", "./-x"), ("--help; id", "./--help; id")],
)
def test_a_path_is_one_word_of_a_proposed_command_and_no_option(path, word):
    assert shlex.split(f"report {shell_word(path)}") == ["report", word]


@pytest.mark.parametrize(
    ("rate", "text"), [(0, "0 B/s"), (38_600, "38.6 kB/s"), (999_990, "1.00 MB/s"), (2e13, "20000 GB/s")]
)
def test_a_bandwidth_has_the_unit_that_leaves_no_zeros(rate, text):
    assert format_bandwidth(rate) == text
