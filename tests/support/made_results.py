"""Rows and printed tables of results, told apart."""

from allreduce_bench.evaluation.summary_row import SummaryRow


def of(rows: list[SummaryRow], algorithm: str, ranks: int) -> list[SummaryRow]:
    return [row for row in rows if (row["competitor"], row["ranks"]) == (algorithm, ranks)]


def tables_of(text: str) -> dict[tuple[str, str], str]:
    """The text of each table by the first words of its title: competitor, and ranks."""
    parts = text.split("# competitor ")[1:]
    titles = [part.splitlines()[0] for part in parts]
    return {(title.split()[0].rstrip(","), title.split(", ")[1].split()[0]): part for title, part in zip(titles, parts)}


def outcome(launch, cell):
    """two_tree is wrong at 1 KiB, skipped at 64 KiB, and refused at 1 MiB."""
    if cell.algorithm == "two_tree" and cell.size_bytes == 1024:
        return {"state": "wrong", "wrong": 3}
    if cell.algorithm == "two_tree" and cell.size_bytes == 65536:
        return {"state": "skipped", "reason": "needs much memory", "wrong": None}
    if cell.algorithm == "two_tree" and cell.size_bytes == 1 << 20:
        return {"state": "refused", "reason": "rank 1 of 2 never ends", "wrong": None}
    return {}
