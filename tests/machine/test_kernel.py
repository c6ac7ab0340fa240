"""Files of the kernel: what cannot be read is None."""

from allreduce_bench.machine import kernel


def test_a_file_that_holds_no_number_or_is_a_folder_is_nothing(put):
    put("proc/number", "12 apples")
    assert kernel.read_int("proc/number") is None and kernel.read_int("proc") is None
    assert kernel.read("proc") is None and kernel.matching_paths("sys/*") == [] and not kernel.exists("sys")


def test_paths_match_in_order_and_what_follows_the_wildcard_may_be_absent(put):
    for cpu in (0, 1, 10):
        put(f"sys/cpu/cpu{cpu}/topology/siblings", cpu)
    put("sys/cpu/cpufreq/governor", "none")
    paths = kernel.matching_paths("sys/cpu/cpu[0-9]*/topology/siblings")
    assert paths == [f"sys/cpu/cpu{cpu}/topology/siblings" for cpu in (0, 1, 10)]
    assert kernel.read_int("sys/cpu/cpu10/topology/siblings") == 10
    assert [kernel.read(path) for path in kernel.matching_paths("sys/cpu/cpu1*/governor")] == [None, None]


def test_a_file_longer_than_one_read_is_read_to_its_end(put, monkeypatch):
    monkeypatch.setattr(kernel, "AT_ONCE", 4)
    put("proc/text", "  twelve apples ")
    assert kernel.read("proc/text") == "twelve apples"
