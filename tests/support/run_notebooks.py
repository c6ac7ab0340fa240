"""Runs the notebooks of `analysis/` and reads what they say. As a program it keeps them with what they say now.

`python tests/support/run_notebooks.py [NAME.ipynb ...]`, all of them without names; `make notebooks` does so.
"""

import re
import sys
from decimal import Decimal
from pathlib import Path

import nbformat
from jupyter_client import KernelManager
from jupyter_client.kernelspec import KernelSpec
from nbclient import NotebookClient
from places import ANALYSIS

NOTEBOOKS = sorted(ANALYSIS.glob("*.ipynb"))
NUMBER = re.compile(r"(?<![\w.])[-+−]?\d[\d,]*(?:\.\d*)?(?:e[-+]?\d+)?")
RELATIVE = 0.02  # by which numbers may differ; where they are not whole, by 1 in their last digit, too


class ThisInterpreter(KernelManager):
    """A kernel of the interpreter that runs the tests, whatever kernels are installed."""

    @property
    def kernel_spec(self) -> KernelSpec:
        command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=command, display_name="this interpreter", language="python")


def read(path: Path) -> nbformat.NotebookNode:
    """The notebook as it is kept."""
    return nbformat.read(path, as_version=4)


def execute(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Run all cells from top to bottom in `analysis/`, and keep their outputs in `notebook`. Raises where one fails."""
    resources = {"metadata": {"path": str(ANALYSIS)}}
    client = NotebookClient(
        notebook, timeout=120, resources=resources, kernel_manager_class=ThisInterpreter, record_timing=False
    )
    return client.execute()


def said(notebook: nbformat.NotebookNode) -> list[str]:
    """What each code cell printed or showed, as plain text; pictures have none but their size."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return ["\n".join(map(_plain_text, cell.outputs)) for cell in cells]


def _plain_text(output: nbformat.NotebookNode) -> str:
    return output.text if output.output_type == "stream" else output.get("data", {}).get("text/plain", "")


def same(one: str, other: str) -> bool:
    """Whether two texts have the same words, and numbers that differ by no more than a rounding."""
    if NUMBER.sub("#", one).split() != NUMBER.sub("#", other).split():
        return False
    return all(map(_close, NUMBER.findall(one), NUMBER.findall(other)))


def _close(one: str, other: str) -> bool:
    mine, yours = (Decimal(number.replace(",", "").replace("−", "-")) for number in (one, other))
    return abs(mine - yours) <= max(RELATIVE * max(abs(float(mine)), abs(float(yours))), _last_digit(mine))


def _last_digit(number: Decimal) -> float:
    exponent = number.as_tuple().exponent
    return 10.0**exponent if isinstance(exponent, int) and exponent < 0 else 0.0


def main(names: list[str]) -> None:
    """Run and rewrite the named notebooks, or all."""
    for path in [ANALYSIS / Path(name).name for name in names] or NOTEBOOKS:
        notebook = execute(read(path))
        notebook.metadata.language_info = {"name": "python"}  # not the version of this interpreter
        nbformat.write(notebook, path)
        print(path.name)


if __name__ == "__main__":
    main(sys.argv[1:])
