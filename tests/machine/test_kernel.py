"""Files of the kernel: what cannot be read is None."""

from allreduce_bench.machine import kernel


def test_a_file_that_holds_no_number_or_is_a_folder_is_nothing(put):
    put("proc/number", "12 apples")
    assert kernel.read_int("proc/number") is None and kernel.read_int("proc") is None
    assert kernel.read("proc") is None and kernel.matching_paths("sys/*") == [] and not kernel.exists("sys")


def test_paths_match_in_every_part_and_in_order(put):
    for cpu in (0, 1, 10):
        put(f"sys/cpu/cpu{cpu}/topology/siblings", cpu)
    put("sys/cpu/cpufreq/governor", "none")
    assert kernel.matching_paths("sys/cpu/cpu[0-9]*/topology/siblings") == [
        f"sys/cpu/cpu{cpu}/topology/siblings" for cpu in (0, 1, 10)
    ]
    assert kernel.matching_paths("sys/cpu/*/governor") == ["sys/cpu/cpufreq/governor"]
    assert kernel.read_int("sys/cpu/cpu10/topology/siblings") == 10


def test_a_file_longer_than_one_read_is_read_to_its_end(put, monkeypatch):
    monkeypatch.setattr(kernel, "AT_ONCE", 4)
    put("proc/text", "  twelve apples ")
    assert kernel.read("proc/text") == "twelve apples"
