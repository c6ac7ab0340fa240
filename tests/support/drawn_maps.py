"""What stands in the cells of a map that was drawn."""

from matplotlib.patches import Rectangle


def cells_of(axes) -> dict[tuple[int, int], Rectangle]:
    """(column, row) -> the rectangle drawn there."""
    return {(round(one.get_x() + 0.5), round(one.get_y() + 0.5)): one for one in axes.patches}


def texts_of(axes) -> set[str]:
    return {text.get_text() for text in axes.texts}
