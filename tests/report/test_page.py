"""The page about a run: whole in itself, safe against what it quotes, and it says everything that matters."""

import json
import re
import shlex
from base64 import b64encode
from hashlib import sha256
from html import unescape
from urllib.parse import unquote_to_bytes

import matplotlib.image
import pandas as pd
import pytest
from hand_models import hand_models
from made_runs import build_run
from parsed_page import ParsedPage as Page

from allreduce_bench.evaluation.summary import summarise, summary
from allreduce_bench.evaluation.verdict import verdicts
from allreduce_bench.report import page as report
from allreduce_bench.report.figure import MODELS, TIMES
from allreduce_bench.report.figures import report_figures
from allreduce_bench.report.page import FigureFiles, write_report
from allreduce_bench.report.verdict_sentence import verdict_sentences
from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.runs.rows import RunError
from allreduce_bench.units import format_time

HOSTILE = "<script>alert(1)</script>"


PICTURES = FigureFiles(beside_page=True)
FITTED = report._models


def troubled(launch, cell):
    """Ring wrong at 1 MiB, two_tree skipped at 4 MiB and never started at 64 KiB, diverging; native all right."""
    size_bytes = cell.size_bytes
    if cell.algorithm == "ring" and size_bytes == 1 << 20:
        return {"state": "wrong", "wrong": 17}
    if cell.algorithm == "two_tree" and size_bytes == 65536:
        return None
    if cell.algorithm == "two_tree" and size_bytes == 4 << 20:
        return {"state": "skipped", "reason": f"needs more memory {HOSTILE}"}
    return {"same_bits": cell.algorithm != "two_tree"}


def counted(launch, cell):
    """Each byte costs a nanojoule beside a millijoule, and ten per cent more in each further launch."""
    energy_j = (1e-3 + 1e-9 * cell.size_bytes) * (1 + launch.number / 10)
    return {"energy_j": energy_j, "energy_idle_share": 0.4, "energy_counters": "package-0, package-0/dram"}


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> RunFolder:
    command = ["allreduce-bench", "run", "--op", "a b"]
    return build_run(tmp_path_factory.mktemp("good") / "a run", command=command, outcome=counted)


@pytest.fixture(scope="module", autouse=True)
def no_models():
    """What a fit finds is tested elsewhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "_models", lambda *_: ([], []))
        yield


def by_hand(points):
    """Models of all but ring."""
    names = [name for name in points["competitor"].unique() if name != "ring"]
    return hand_models(names, sorted(points["ranks"].unique().tolist())), [("ring", f"too few {HOSTILE}")]


@pytest.fixture(scope="module")
def page(run, no_models) -> Page:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "_models", by_hand)
        (run.path.parent / "pages").mkdir()
        return Page(write_report([run], run.path.parent / "pages" / "report.html", figures=PICTURES))


FIGURES = [figure.stem for section in (TIMES, MODELS) for figure in report_figures(section)]
TABLES = ("parameters",)


@pytest.fixture(scope="module")
def troubled_page(tmp_path_factory) -> Page:
    hosts = [HOSTILE, "node2"]
    folder = tmp_path_factory.mktemp("bad")
    command = ["allreduce-bench", "run", "-o", HOSTILE]
    run = build_run(folder / "<b>run", outcome=troubled, command=command, facts={"hosts": hosts}, launches=1)
    return Page(write_report([run], folder / "report.html"))


def test_needs_no_network_and_runs_its_own_script_only(page):
    assert page.source.startswith("<!DOCTYPE html>")
    assert not page.all("link") and not page.all("iframe")
    held, code = re.findall(r"<script([^>]*)>(.*?)</script>", page.source, re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", page.source, re.DOTALL)
    (policy,) = [unescape(meta["content"]) for meta in page.all("meta") if "http-equiv" in meta]
    hashes = [b64encode(sha256(text.encode()).digest()).decode() for text in (code[1], style)]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy
    assert f"script-src 'sha256-{hashes[0]}'" in policy and f"style-src 'sha256-{hashes[1]}'" in policy
    assert held[0] == ' type="application/json"' and {"charts", "cells"} == json.loads(held[1]).keys()
    assert not any("style" in attributes for _, attributes in page.elements)
    assert all(image["src"].startswith("data:image/svg+xml,") for image in page.all("img"))
    inside = [link for link in page.all("a") if link.get("href", "").startswith("data:")]
    assert inside and all("download" in link for link in inside)  # saved, never opened
    assert all(link in inside or not re.match(r"[a-z]+:|//|/", link.get("href", "")) for link in page.all("a"))
    beside_pictures = re.sub(r'"data:[^"]*"', "", page.source)  # which name their own language by its address
    assert not re.search(r"url\(|@import|https?://", beside_pictures)
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)


def test_every_figure_has_words(page):
    assert len(page.all("img")) == len(FIGURES) - 1  # the map of winners is a table
    assert all(len(image["alt"]) > 40 for image in page.all("img"))


def test_energy_is_drawn_over_size_and_waiting_costs_too(page, run):
    drawn = pd.read_csv(run.path.parent / "pages" / "report_figures" / "energy.csv")
    (cell,) = drawn[drawn[["ranks", "competitor", "size_bytes"]].eq([2, "ring", 8]).all(axis=1)].to_dict("records")
    expected_j = [(1e-3 + 8e-9) * factor for factor in (1.2, 1.1, 1.3)]
    assert [cell[f"energy{end}_j"] for end in ("", "_low", "_high")] == pytest.approx(expected_j)
    assert "package-0, package-0/dram. What idle nodes take is subtracted: 40 % of what was counted" in page.text
    assert "Ranks which spin while they wait cost as much as ranks which work" in page.text


def test_the_first_screen_is_the_verdict_with_its_grade_the_map_and_the_speedup(page, run):
    rows, end = summarise(run), page.source.index('class="contents"')
    for verdict in verdicts(rows):
        said = " ".join(verdict_sentences(verdict))
        assert f"{said} grade: {verdict.grade}" in page.text
        assert page.text.count(said) == 1  # once and nowhere else
    told = [cell["data-words"] for cell in page.all("td") if "data-words" in cell]
    won = pd.read_csv(run.path.parent / "pages" / "report_figures" / "winners.csv")
    assert len(told) == len(won) and any(words.startswith("1 MiB on 4 ranks: ") for words in told)
    assert page.source.index("data-words") < page.source.index('data-chart="speedup"') < end
    assert end < page.source.index('data-chart="latency"')


def test_times_that_are_not_reliable_have_their_minimum_and_no_factor(tmp_path):
    busy = {"host": "n", "elapsed_s": 10.0, "worked_s": 20.0, "own_s": 2.0, "stolen_s": 0.0, "cpus": 2}
    run = build_run(tmp_path / "run", ranks=(2,), facts={"counted": [busy]})
    rows = summarise(run)
    assert {row["grade"] for row in rows} == {"not reliable"}
    page = Page(write_report([run], tmp_path / "report.html"))
    first = page.text.split("How to read it")[0]
    assert "No winner: the times are not reliable" in first and "times as fast" not in first
    assert f"({format_time(rows[0]['min_s'])})" in page.text


def test_a_page_needs_no_file_beside_it(page, run):
    held = {
        link["download"]: link["href"] for link in page.all("a") if link.get("href", "").startswith("data:text/csv")
    }
    assert held.keys() == {f"{stem}.csv" for stem in (*FIGURES, *TABLES)}
    for name, address in held.items():
        saved = unquote_to_bytes(address.removeprefix("data:text/csv,"))
        assert saved == (run.path.parent / "pages" / "report_figures" / name).read_bytes()


def test_contents_lead_to_sections_in_their_order(page):
    anchors = [link["href"][1:] for link in page.all("a") if link.get("href", "").startswith("#")]
    places = [page.source.index(f'id="{anchor}"') for anchor in anchors]
    assert len(anchors) > 6 and places == sorted(places)
    order = [
        page.text.rindex(title)
        for title in ("Time and bandwidth", "Where it was measured", "Which algorithm did native run")
    ]
    assert order == sorted(order)


def test_the_script_gets_the_values_of_the_summary(page, run):
    held = json.loads(re.findall(r'<script type="application/json">(.*?)</script>', page.source)[0])
    rows = {(row["ranks"], row["competitor"], row["size_bytes"]): row for row in summarise(run)}
    shown = 0
    for panel in held["charts"]["latency"]["panels"]:
        ranks = int(panel["tags"][0].split()[0])
        for series in panel["series"]:
            for size_bytes, time_us, words, cell in zip(*(series[name] for name in ("x", "y", "words", "cells"))):
                row = rows[ranks, series["name"], size_bytes]
                assert time_us == pytest.approx(row["time_s"] * 1e6, rel=1e-5)
                assert format_time(row["time_s"]) in words and f"{row['launches']} launches" in words
                assert held["cells"][cell]["launches"].keys() == row["launch_medians"].keys()
                shown += 1
    assert shown == len(rows)


def test_every_wide_table_scrolls_with_focus_and_a_label(page):
    regions = [attributes for tag, attributes in page.elements if "scroll" in attributes.get("class", "").split()]
    assert len(regions) > 5 and all(region["tabindex"] == "0" and region["aria-label"] for region in regions)
    assert len(page.all("main")) == 1


def test_says_what_ran_where_and_how(page, run):
    assert "All-reduce on 2, 4 ranks · Open MPI 5.0.11 · node1" in page.text
    for words in (
        "Linux 6.1",
        "4.1.2",
        "OMPI_MCA_btl=self,sm",
        "after an MPI_Barrier",
        "random in every launch, seed 1",
        "3 planned",
    ):
        assert words in page.text
    assert shlex.join(run.open()["command"]) in page.text
    assert "all results exact" in page.text and "WRONG" not in page.text


def test_oversubscription_comes_first(page):
    badge = page.text.index("oversubscribed at 4 ranks")
    first = page.text.index("Time and bandwidth", badge)
    assert badge < page.text.index("all results exact") < first
    assert page.text.index("oversubscribed: 4 ranks on a node of 2 cores") > badge


def test_models_are_described_with_intervals_and_errors(page):
    assert "Fitted, not measured" in page.text
    assert "native as recursive_doubling" in page.text and "2.00 (1.80 to 2.20)" in page.text
    assert "100 (80.0 to 130)" in page.text and "10.0 GB/s" in page.text and "8 B to 4 MiB" in page.text
    assert re.search(r"5% ?21%", page.text)
    assert f"ring: too few {HOSTILE}" in page.text


def test_captions_say_how_the_numbers_came_about(page):
    how = (
        "Times: maximum over ranks from a common start (barrier); median over calls, then over launches; 3 launches × 8"
        " calls per cell; 75 % interval over launches; 2, 4 ranks, nodes: 1; "
        "Open MPI 5.0.11."
    )
    assert page.text.count(how) == len(FIGURES)
    assert "90 % prediction interval" in page.text
    assert "Fastest algorithm" in page.text


def test_the_numbers_of_a_figure_are_those_of_the_summary(page, run):
    folder, rows = run.path.parent / "pages" / "report_figures", summary([run])
    latency = pd.read_csv(folder / "latency.csv")
    assert latency["time_s"].to_numpy() == pytest.approx(rows["time_s"].to_numpy(), rel=1e-8)
    assert (latency["bound_s"] < 1.1 * latency["time_s"]).all()  # made runs stray by 2 % around what is fitted
    winners = pd.read_csv(folder / "winners.csv")
    assert len(winners) == rows.groupby(["ranks", "size_bytes"]).ngroups
    ranks = pd.read_csv(folder / "ranks.csv")
    assert {2, 4, 8, 16} <= set(ranks["ranks"]) and ranks.loc[ranks["ranks"] > 4, "time_s"].isna().all()
    assert set(pd.read_csv(folder / "models.csv")["competitor"]) == {"native", "two_tree"}
    assert set(pd.read_csv(folder / "parameters.csv")["name"]) == {"alpha_s", "beta_s_per_byte"}


def test_what_the_data_cannot_carry_is_not_drawn_and_said(tmp_path):
    one = build_run(tmp_path / "one", ranks=(4,))
    text = Page(write_report([one], tmp_path / "report.html")).text
    assert not (tmp_path / "report_figures" / "ranks.csv").exists()
    assert "Unknown at 4 ranks" in text
    alone = build_run(tmp_path / "alone", algorithms=["ring"])
    page = Page(write_report([alone], tmp_path / "alone.html", figures=PICTURES))
    assert "native was" in page.text
    assert {image["src"][:18] for image in page.all("img")} == {"data:image/svg+xml"}
    drawn = {path.stem for path in (tmp_path / "alone_figures").glob("*.png")}
    assert drawn >= {"latency", "bus_bandwidth", "ranks"} and not drawn & {"speedup", "winners", "models"}
    assert len(page.all("img")) == len(drawn)


def test_figures_are_written_as_images_and_nothing_else(page, run):
    folder = run.path.parent / "pages"
    assert {path.name for path in folder.iterdir()} == {"report.html", "report_figures"}
    files = list((folder / "report_figures").iterdir())
    expected = {f"{stem}.{kind}" for stem in FIGURES for kind in ("png", "svg", "csv")}
    assert {path.name for path in files} == expected | {f"{stem}.csv" for stem in TABLES}
    for path in (path for path in files if path.suffix == ".svg"):
        assert path.read_text().startswith("<?xml") and "</svg>" in path.read_text()
    for path in (path for path in files if path.suffix == ".png"):
        pixels = matplotlib.image.imread(path)
        assert pixels.shape[0] > 150 and pixels.shape[1] > 900 and pixels[..., :3].std() > 0.05
    assert all(f"report_figures/{path.name}" in page.text for path in files if path.stem in FIGURES)


def test_without_pictures_the_page_is_the_same_but_for_its_links_and_again_the_same(tmp_path, page, run, monkeypatch):
    monkeypatch.setattr(report, "_models", by_hand)
    plain = Page(write_report([run], tmp_path / "report.html"))
    assert {path.suffix for path in (tmp_path / "report_figures").iterdir()} == {".csv"}
    assert [image["src"] for image in plain.all("img")] == [image["src"] for image in page.all("img")]
    for link in plain.all("a"):
        address = link.get("href", "#")  # the script gives hidden links the picture that the page holds
        assert address.startswith(("#", "data:")) or (tmp_path / address.replace("%20", " ")).resolve().is_file()
    assert write_report([run], tmp_path / "report.html").read_text(encoding="utf-8") == plain.source


def test_quotes_what_is_hostile(troubled_page):
    assert HOSTILE not in troubled_page.source
    assert "<b>" not in troubled_page.source and len(troubled_page.all("script")) == 2  # its data and its own
    assert troubled_page.text.count(HOSTILE) >= 4  # title, heading, reason, command
    assert unescape("&lt;b&gt;run") in troubled_page.text


def test_names_everything_that_was_not_measured(troubled_page):
    text = troubled_page.text
    assert "WRONG RESULTS: ring" in text and "17 wrong elements" in text
    assert "not ended" in text
    assert "4 of 30 cells not measured" in text
    assert "replicas diverge: two_tree" in text
    cells = [attributes for attributes in troubled_page.all("td") if attributes.get("class") == "bad"]
    assert len(cells) == 2  # ring at 1 MiB for 2 and 4 ranks
    assert "all results exact" not in text


def test_one_rank_and_empty_vectors_have_a_page(tmp_path):
    run = build_run(tmp_path / "run", ranks=(1,), sizes=(0, 8, 1024, 65536), launches=1)
    page = Page(write_report([run], tmp_path / "report.html"))
    assert "Only single ranks" in page.text
    assert len(page.all("img")) == 2  # no bus bandwidth without a second rank, and nobody wins alone


def test_nothing_measured_is_said(tmp_path):
    run = build_run(tmp_path / "run", outcome=lambda launch, cell: {"state": "skipped", "reason": "no memory"})
    page = Page(write_report([run], tmp_path / "report.html"))
    assert "No cell was measured" in page.text and not page.all("img")


def test_pretended_nodes_are_marked(tmp_path, words_only):
    pretended = {"code": "pretended", "level": "severe", "text": "2 nodes were declared, not real"}
    told = {"findings": [pretended], "nodes_declared": 2}
    run = build_run(tmp_path / "run", outcome=lambda launch, cell: {"nodes_declared": 2}, facts=told)
    page = Page(write_report([run], tmp_path / "report.html"))
    assert "PRETENDED nodes at 2, 4 ranks" in page.text and "4 ranks (oversubscribed) (PRETENDED nodes: 2)" in page.text


def test_several_runs_have_a_section_each(tmp_path, run, monkeypatch):
    monkeypatch.setattr(report, "_models", by_hand)
    other = build_run(tmp_path / "other", ranks=(2,))
    page = Page(write_report([run, other], tmp_path / "report.html", figures=PICTURES))
    assert "All-reduce: 2 runs" in page.text and len(page.all("section")) == 3  # the runs together come first
    files = {path.name for path in (tmp_path / "report_figures").iterdir()}
    assert {"1_latency.png", "2_latency.svg", "1_ranks.csv", "2_parameters.csv"} <= files and "2_ranks.csv" not in files
    drawn = {name.removesuffix(".png") for name in files if name.endswith(".png")}
    assert {f"1_{stem}" for stem in FIGURES} | {"runs"} <= drawn and "2_ranks" not in drawn
    assert {f"2_{stem}" for stem in ("latency", "bus_bandwidth", "speedup", "winners", "models")} <= drawn
    assert len(page.all("img")) == len(drawn) - 2  # the maps of winners are tables


def test_no_run_leaves_nothing_behind(tmp_path):
    with pytest.raises(RunError):
        write_report([RunFolder(tmp_path / "absent")], tmp_path / "report.html")
    assert not list(tmp_path.iterdir())


def test_findings_say_effect_and_advice_and_mere_information_has_no_badge(tmp_path, words_only):
    wheel = {
        "code": "pypi",
        "level": "severe",
        "text": "a wheel",
        "effect": "it is TCP",
        "advice": f"more {HOSTILE}",
    }
    hosts = {"code": "virtual", "level": "info", "text": "one machine", "effect": "cores are shared", "advice": "ask"}
    loaded = {"code": "loaded", "level": "caution", "text": "load average 9"}
    run = build_run(tmp_path / "run", facts={"findings": [loaded, hosts, wheel]})
    page = Page(write_report([run], tmp_path / "report.html"))
    assert HOSTILE not in page.source
    start = page.text.index("all results exact")
    badges = page.text.index("All-reduce"), page.text.index("How to read it", start)
    said = [
        page.text.index(words, *badges) for words in ("MPI without fabric driver at 2, 4", "machine under load at 2")
    ]
    assert said == sorted(said) and "virtual hosts" not in page.text[slice(*badges)]
    warnings = page.text[page.text.index("Warnings") :]
    order = (
        "a wheel (launches of 2, 4 ranks) Effect: it is TCP. What to do: more",
        "load average 9 (",
        "one machine (",
    )
    places = [warnings.index(words) for words in order]
    assert places == sorted(places)
    assert warnings.count("Effect: ") == warnings.count("What to do: ") == 2


def only_one_size_of_ring(launch, cell):
    return None if cell.algorithm == "ring" and cell.size_bytes > 8 else {}


def test_models_come_from_the_fit(tmp_path, monkeypatch):
    """The run is one of known prices; ring was measured at one size and two numbers of ranks, too few for a model."""
    monkeypatch.setattr(report, "time_pictures", lambda *_: [])
    monkeypatch.setattr(report, "_models", FITTED)
    names = ["ring", "recursive_doubling"]
    run = build_run(tmp_path / "run", algorithms=names, ranks=(2, 4), outcome=only_one_size_of_ring)
    page = Page(write_report([run], tmp_path / "report.html"))
    assert re.search(r"recursive_doubling ?(1\.9|2\.0)\d \(not identified\)", page.text)
    assert re.search(r"Without a model: ?ring: ", page.text)
    assert {"models.csv", "ranks.csv"} <= {path.name for path in (tmp_path / "report_figures").iterdir()}
