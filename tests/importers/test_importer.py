"""Every file of importers/tools declares its importer, and is found."""

from made_logs import CSV, IMB, NCCL, OSU
from places import PACKAGE

from allreduce_bench.importers.tools import Importer, importers


def test_every_file_has_one_importer():
    files = list((PACKAGE / "importers" / "tools").glob("[!_]*.py"))
    assert len(importers()) == len(files) and all(isinstance(importer, Importer) for importer in importers())
    assert len({importer.name for importer in importers()}) == len(files)


def test_the_most_specific_one_is_asked_first():
    order = ["nccl-inspector", "nccl-tests-json", "osu", "imb", "nccl-tests", "pico", "csv"]
    assert [importer.name for importer in importers() if importer.name in order] == order


def test_each_recognises_its_own_logs_only():
    for name, text in {"osu": OSU, "imb": IMB, "nccl-tests": NCCL, "csv": CSV}.items():
        assert [importer.name for importer in importers() if importer.recognises(text)] == [name]
