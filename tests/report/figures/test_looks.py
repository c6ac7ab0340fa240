"""What all figures share."""

from matplotlib.figure import Figure

from allreduce_bench.report import figure as looks


def test_twelve_algorithms_differ_in_colour_and_marker():
    styled = looks.styles(["native", *(f"a{number}" for number in range(12))])
    assert styled["native"] is looks.NATIVE
    others = [style for name, style in styled.items() if name != "native"]
    assert len({style["marker"] for style in others}) == 12 and len({style["color"] for style in others}) == 12


def test_ways_of_an_algorithm_differ_in_line_and_named_segments_in_colour():
    styled = looks.styles(["ring", "ring@pipelined", "ring@pipelined:64K", "ring@pipelined:256K"])
    seen = [(style["color"], style["linestyle"]) for style in styled.values()]
    assert len(set(seen)) == 4 and seen[0][0] == seen[1][0]


def test_panels_stand_in_rows_of_equal_length():
    figure, axes = looks.grid(4, "time (us)", logarithmic=True)
    assert len(axes) == 4 and figure.axes[0].get_subplotspec().get_gridspec().get_geometry() == (2, 2)
    assert [panel.get_ylabel() for panel in axes] == ["time (us)", "", "time (us)", ""]


def test_sizes_are_named_where_there_is_room():
    axes = Figure().subplots()
    looks.size_axis(axes, [8 << power for power in range(13)])
    assert list(axes.xaxis.get_majorticklocs()) == [8 << power for power in range(0, 13, 2)]
