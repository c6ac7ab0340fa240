"""What is said of logs of one algorithm: at the end of import, by show, in JSON and on the page."""

import json

from click.testing import CliRunner
from made_logs import log

from allreduce_bench.cli import main

SIZES = tuple(8 << 3 * power for power in range(5))


def text(factor: float = 1.0, ranks: int = 8) -> str:
    """A CSV of five sizes of one algorithm."""
    rows = "".join(f"{size_bytes},{ranks},{factor * (10 + size_bytes / 100)}\n" for size_bytes in SIZES)
    return f"bytes,ranks,time_us\n{rows}"


def said(*words: object) -> str:
    result = CliRunner().invoke(main, list(map(str, words)))
    assert result.exit_code == 0, result.output
    return result.stdout


def test_one_log_says_its_latency_and_its_peak(tmp_path):
    printed = said("import", log(tmp_path, text(), "a.csv"), "-o", tmp_path / "run")
    words = "latency 10.1 us at 8 B, peak bus bandwidth 0.170 GB/s at 32 KiB"
    assert f"\n8 ranks: native: {words}.\n" in printed
    assert "\n".join(printed.splitlines()[1:]) + "\n" == said("show", tmp_path / "run")
    table = said("show", tmp_path / "run")
    assert "No winner" not in table
    said("report", tmp_path / "run")
    page = (tmp_path / "run" / "report.html").read_text()
    assert f"native: {words}." in page and "Fastest algorithm" not in page
    (alone,) = json.loads(said("show", tmp_path / "run", "--format", "json"))["single_algorithm"]
    assert (alone["latency_nbytes"], alone["peak_nbytes"]) == (8, SIZES[-1])


def test_the_time_of_a_large_size_is_no_latency(tmp_path):
    made = log(tmp_path, "bytes,ranks,time_us\n67108864,4,50000\n", "a.csv")
    printed = said("import", made, "-o", tmp_path / "run")
    assert "\n4 ranks: native: 50.0 ms at 64 MiB, peak bus bandwidth 2.01 GB/s at 64 MiB.\n" in printed


def test_names_of_logs_neither_steer_a_terminal_nor_write_a_page(tmp_path):
    names = ("<script>alert(1)</script>.csv", "\x1b[31mred\x1b[0m.csv")
    folder = tmp_path / "logs"
    folder.mkdir()
    for factor, name in enumerate(names, start=1):
        (folder / name.replace("/", "_")).write_text(text(factor))
    printed = said("import", folder, "-o", tmp_path / "run") + said("show", tmp_path / "run")
    assert "\x1b" not in printed
    said("report", tmp_path / "run")
    page = (tmp_path / "run" / "report.html").read_text()
    assert "<script>alert" not in page and "&lt;script&gt;alert(1)&lt;_script&gt;.csv" in page
    sides = [str(folder / name.replace("/", "_")) for name in names]
    for format_ in ("table", "markdown"):
        compared = CliRunner().invoke(main, ["compare", *sides, "--format", format_, "--undecided", "pass"])
        assert compared.exit_code == 0 and "\x1b" not in compared.output
