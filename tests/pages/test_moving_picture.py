"""A moving picture: its frames, and the one that README.md opens with."""

import io
import re

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image, ImageSequence
from places import ROOT

from allreduce_bench.cli import main
from allreduce_bench.pages.drawing import drawing, rank_names
from allreduce_bench.pages.pictures import COLOURS, END_MS, FRAME_MS, SEEN_MS, frames, gif, places_on_way

README = (ROOT / "README.md").read_text(encoding="utf-8")


def read(source) -> tuple[list[np.ndarray], list[int]]:
    """The frames of a GIF, RGB, and their durations in ms."""
    found = [(np.asarray(frame.convert("RGB")), frame.info["duration"]) for frame in ImageSequence.Iterator(source)]
    pictures, durations = zip(*found)
    return list(pictures), list(durations)


def test_each_round_is_seen_and_then_moves():
    durations = [frame.duration_ms for frame in frames(drawing("naive", 3), rank_names(3))]
    assert durations == 2 * [SEEN_MS, *6 * [FRAME_MS]] + [END_MS]


def test_what_is_read_back_is_what_was_drawn():
    shown = drawing("tree", 3)
    drawn = [frame.pixels for frame in frames(shown, rank_names(3))]
    image = Image.open(io.BytesIO(gif(shown, rank_names(3))))
    assert image.info["loop"] == 0
    pictures, _ = read(image)
    assert len(pictures) == len(drawn) and np.all(pictures[0][0, 0] == 255)
    for one, other in zip(pictures, drawn):
        assert np.abs(one.astype(int) - other).mean() < 1
        assert len(np.unique(one.astype(int) @ (1 << 16, 1 << 8, 1))) <= COLOURS


def test_a_single_rank_is_one_frame():
    (frame,) = frames(drawing("ring", 1), rank_names(1))
    assert frame.duration_ms == END_MS


@pytest.mark.parametrize(("rounds", "steps"), [(0, 7), (6, 7), (40, 3), (150, 2)])
def test_many_rounds_have_few_frames_each(rounds, steps):
    assert places_on_way(rounds) == steps


def test_the_command_of_the_readme_makes_its_picture(tmp_path):
    words = re.search(r"allreduce-bench (explain \S+ -n \d+ -o )ring\.gif ", README)[1]
    assert "](docs/ring.gif)" in README.split("\n## ")[0]
    made = tmp_path / "ring.gif"
    assert CliRunner().invoke(main, [*words.split(), str(made)]).exit_code == 0
    kept = ROOT / "docs" / "ring.gif"
    (now, durations), (before, kept_durations) = (read(Image.open(path)) for path in (made, kept))
    assert durations == kept_durations
    for one, other in zip(now, before, strict=True):  # letters may have other edges with another matplotlib
        assert one.shape == other.shape and np.abs(one.astype(int) - other).mean() < 2
    assert kept.stat().st_size < 300_000
