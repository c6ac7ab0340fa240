"""Which MSCCL files are all-reduces that ranks can run, and what do their schedules cost? `msccl_files.py FOLDER`.

A row for each file of the folder that ends in .xml or .xml.gz: its GPUs, channels, thread blocks, steps of blocks and
chunks; of the schedule that ranks run, the messages in a row, the steps of the rank with most, and what a rank sends at
most, in vectors; whether all ranks get the same bits; the seconds of a processor to read and prove it; or why it is
refused. Each is proved at several lengths, and played on numbers. Exit status 1: no file was found, or one was proved
and is wrong.
"""

import gzip
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from player import play

from allreduce_bench.algorithms import AlgorithmError
from allreduce_bench.algorithms.msccl import algorithm_of
from allreduce_bench.algorithms.msccl.file import read
from allreduce_bench.executing.program import exchanges
from allreduce_bench.schedule.algorithm import Topology
from allreduce_bench.schedule.verify import cases, proof_of

COLUMNS = ("GPUs", "channels", "blocks", "steps", "chunks", "in a row", "of a rank", "sent", "same bits", "seconds")


def main(folder: str) -> int:
    """Print a row for each file; return the status."""
    paths = sorted(path for path in Path(folder).iterdir() if path.name.endswith((".xml", ".xml.gz")))
    print("  ".join(["file".ljust(40), *COLUMNS]))
    wrong = [path.name for path in paths if not _row(path)]
    print(f"{len(paths)} files, wrongly proved: {', '.join(wrong) or 'none'}")
    return bool(wrong or not paths)


def _row(path: Path) -> bool:
    """Print the row of a file; return whether its proof holds on numbers."""
    content = path.read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder, path.name.removesuffix(".gz"))
        whole.write_bytes(gzip.decompress(content) if path.suffix == ".gz" else content)
        begun = time.process_time()
        try:
            algorithm = algorithm_of(whole)
        except AlgorithmError as refused:
            print(f"{whole.stem:<40}  {str(refused).replace(folder + '/', '')}")
            return True
        file = read(whole, whole.read_bytes())
    proofs, topology = {}, Topology.one_node(file.gpus)
    for case in cases(algorithm, file.gpus, (), (), None):
        schedules = algorithm.schedules(file.gpus, case.topology, case.count, case.segment)
        proofs[case.count] = proof_of(algorithm, case, schedules)
    took_s, count = time.process_time() - begun, file.chunks
    proof = proofs[count]
    vectors = [np.arange(count) * (rank + 1) for rank in range(file.gpus)]
    schedules = algorithm.schedules(file.gpus, topology, count, count)
    total = np.arange(count) * sum(range(1, file.gpus + 1))
    steps = sum(len(block.instructions) for block in file.blocks.values())
    in_a_row = algorithm.cost(file.gpus, topology, count, count).messages
    values = file.gpus, file.channels, len(file.blocks), steps, file.chunks, in_a_row, proof.steps
    words = (*values, f"{proof.sent / count:.3f}", "yes" if proof.same_bits else "no", f"{took_s:.1f}")
    cells = [str(word).rjust(len(column)) for word, column in zip(words, COLUMNS)]
    print("  ".join([algorithm.name.ljust(40), *cells]))
    return all((ended == total).all() for ended in play([exchanges(one, count) for one in schedules], vectors))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
