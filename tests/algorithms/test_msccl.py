"""MSCCL files: their additions in their order, at any length, or a refusal in one sentence; never a wrong proof."""

import re
from random import Random

import numpy as np
import pytest
from click.testing import CliRunner, Result
from has_message import has_error, has_message
from hypothesis import given, settings
from hypothesis import strategies as st
from interpreters import in_turn, interpreters
from measured_runs import bench, done, here
from msccl_programs import ALL_GATHER, ALL_PAIRS, ONE_STEP, OUT_OF_PLACE, RING, doubling, halves, made, run, text_of
from player import play

from allreduce_bench.algorithms import AlgorithmError, find, msccl
from allreduce_bench.algorithms.msccl import algorithm_of, converted
from allreduce_bench.algorithms.msccl.file import NoAllreduce, read
from allreduce_bench.cli import main
from allreduce_bench.executing.pipeline import pipelined_program
from allreduce_bench.executing.program import exchanges
from allreduce_bench.models.terms import terms
from allreduce_bench.schedule.algorithm import Algorithm, Topology
from allreduce_bench.schedule.price import price
from allreduce_bench.schedule.verify import cases, proof_of, verify

MADE = {"halves": halves(), "doubling": doubling()}


def text(name: str) -> str:
    return MADE[name] if name in MADE else text_of(name)


@pytest.fixture
def written(tmp_path):
    """Write a file, and give its path."""

    def write(content: str | bytes, name: str = "theirs"):
        path = tmp_path / f"{name}.xml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def called(*words) -> Result:
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def ranks_of(algorithm: Algorithm) -> int:
    return int(next(iter(algorithm.needs)).split()[0])


def unlike(size: int, count: int) -> list[np.ndarray]:
    """Inputs whose sum depends on the order of additions."""
    rng = np.random.default_rng([size, count])
    return [rng.standard_normal(count) * 10.0 ** rng.integers(-6, 6, count) for _ in range(size)]


def bits(vectors) -> list[bytes]:
    return [vector.tobytes() for vector in vectors]


@pytest.mark.parametrize("name", [*MADE, ONE_STEP, OUT_OF_PLACE, ALL_PAIRS, RING])
def test_a_file_is_proved_and_makes_its_own_additions_in_its_own_order(written, name):
    algorithm = algorithm_of(path := written(text(name), name))
    size, count = ranks_of(algorithm), algorithm.chunks
    for case in cases(algorithm, size, (count,) if name == RING else (), (), None):
        proof_of(algorithm, case, algorithm.schedules(size, case.topology, case.count, case.segment))
    inputs = unlike(size, count)
    steps = algorithm.schedules(size, Topology.one_node(size), count, count)
    ended = play([exchanges(of_rank, count) for of_rank in steps], [vector.copy() for vector in inputs])
    for in_place in read(path, path.read_bytes()).in_place:
        theirs = run(text(name), inputs, in_place, Random(1))
        assert theirs is not None and bits(theirs) == bits(ended)


def test_vectors_of_any_length_are_cut_into_the_chunks(written):
    algorithm = algorithm_of(written(text_of(OUT_OF_PLACE)))
    for count in (0, 1, 7, 50, 131):
        expected = [np.arange(count) * 36] * 8
        for steps in (exchanges, lambda steps, count: pipelined_program(steps, count, 3)):
            schedules = algorithm.schedules(8, Topology.one_node(8), count, max(1, count))
            inputs = [np.arange(count) * (rank + 1) for rank in range(8)]
            assert bits(play([steps(of_rank, count) for of_rank in schedules], inputs)) == bits(expected)


@pytest.mark.parametrize("name", [*MADE, ONE_STEP, ALL_PAIRS])
def test_the_declared_cost_bounds_the_schedule(written, name):
    algorithm = algorithm_of(written(text(name)))
    size = ranks_of(algorithm)
    for count in (algorithm.chunks, 3 * algorithm.chunks + 1):
        topology = Topology.one_node(size)
        cost = algorithm.cost(size, topology, count, count)
        schedules = algorithm.schedules(size, topology, count, count)
        for alpha, beta, gamma in [(1, 0, 0), (0, 1, 0), (0, 0, 1), (5, 1, 0.5), (1, 7, 3)]:
            bound = alpha * cost.messages + beta * cost.elements + gamma * cost.reduced
            assert price(schedules, alpha, beta, gamma).time <= bound
    walked = terms(algorithm, size, None, 64 * algorithm.chunks, 4)
    assert (
        walked.enumerated
        and walked.reduced_nbytes <= algorithm.cost(size, topology, 16 * algorithm.chunks, 1).reduced * 4
    )


def test_sums_that_replace_each_other_are_exchanged_in_one_round(written):
    schedules = algorithm_of(written(doubling())).schedules(4, Topology.one_node(4), 8, 8)
    assert [len(steps) for steps in schedules] == [2] * 4
    assert verify(schedules, 8).same_bits


def test_chunks_of_one_pair_of_ranks_go_together(written):
    schedules = algorithm_of(written(text_of(ONE_STEP))).schedules(4, Topology.one_node(4), 8, 8)
    assert [len(steps) for steps in schedules] == [3] * 4
    assert all(step.send == (range(8),) and step.original for steps in schedules for step in steps if step.send)


RELAY = [  # inputs go round a ring of three, and each GPU adds them from scratch
    [((gpu + 1) % 3, (gpu - 1) % 3, 0, "s i0 s0", "r i0 s0", "s s0 s1", "r i0 s1", "re s0 i0", "re s1 i0")]
    for gpu in range(3)
]


@pytest.mark.parametrize(
    "schedule, code, values",
    [
        (doubling(waits=False), "msccl.race", {"buffer": "i", "chunk": 0}),
        (made(RELAY, 1, 2), "msccl.two_values", {"chunk": 0}),
        (halves().replace('s="1" type="rrc"', 's="1" type="r"', 1), "msccl.result_lacks", {"chunk": 0}),
        (halves().replace('type="r" ', 'type="rrc" ', 1), "msccl.adds_twice", {"gpu": 0, "chunk": 1}),
        (
            halves().replace('dstoff="1"', 'dstoff="0"').replace('srcoff="1"', 'srcoff="0"', 1),
            "msccl.adds_other_chunk",
            {},
        ),
        (
            made([[(1, 1, 0, "r i0 s0", "s i0 s0")], [(0, 0, 0, "r i0 s0", "s i0 s0")]], 1, 1),
            "msccl.waits_for_waiting",
            {"gpu": 1, "block": 0, "step": 0},
        ),
        (made([[(1, 1, 0, "s i0 s0")], [(0, 0, 0, "r i0 s0", "r i0 s0")]], 1, 1), "msccl.waits_for_ended", {"gpu": 0}),
        (made([[(1, 1, 0, "s i0 s0", "s i0 s0")], [(0, 0, 0, "r i0 s0")]], 1, 1), "msccl.never_received", {"gpu": 1}),
        (made([[(1, 1, 0, "s i0 s0 x2")], [(0, 0, 0, "r i0 s0")]], 2, 2), "msccl.lengths_of_message", {"count": 1}),
        (made([[(1, 1, 0, "s s0 s0")], [(0, 0, 0, "r i0 s0")]], 1, 1), "msccl.unwritten", {"buffer": "s"}),
        (made([[], []], 1, inplace=0, outofplace=1), "msccl.result_unwritten", {"own": 0}),
        (
            made([[(1, 1, 0, "s i0 s0", "r i0 i1")], [(0, 0, 0, "s i0 s0", "r i0 i1")]], 2, 1),
            "msccl.result_lacks",
            {"own": 0, "chunk": 0},
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and value.startswith("msccl.") else "",
)
def test_what_is_no_all_reduce_is_refused_with_the_gpu_the_block_and_the_step(written, schedule, code, values):
    path = written(schedule)
    with pytest.raises(NoAllreduce) as refused:
        find([str(path)])
    assert refused.value.code == code and refused.value.values.items() >= values.items(), refused.value.values
    result = called("verify", path, "-n", 2)
    assert result.exit_code == 1 and has_error(result.stderr, code, **values) and result.stderr.count("\n") == 1
    assert re.match(rf"error: {re.escape(str(path))}(:\d+)?: GPU \d", result.stderr)


@pytest.mark.parametrize(
    "good, bad, code, values",
    [
        ("<algo", "<algorithm", "msccl.element", {"expected": "algo"}),
        ("<gpu", "<tb/><gpu", "msccl.element", {"name": "tb"}),
        ("</algo>", "", "msccl.no_xml", {}),
        ("<algo", '<!DOCTYPE a [<!ENTITY b "bb">]><algo', "msccl.document_type", {"line": 1}),
        ("<algo", '<?xml version="1.0" encoding="utf-7"?><algo', "msccl.no_xml", {}),
        ('coll="allreduce"', 'coll="allgather"', "msccl.collective", {"collective": "allgather"}),
        ('coll="allreduce"', "", "msccl.attribute_missing", {"name": "coll"}),
        ('inplace="1"', 'inplace="0"', "msccl.neither_in_place_nor_out", {}),
        ('ngpus="2"', 'ngpus="3"', "msccl.gpu_missing", {"gpu": 2, "gpus": 3}),
        ('ngpus="2"', 'ngpus="two"', "msccl.number", {"name": "ngpus", "word": "two"}),
        ('ngpus="2"', 'ngpus="1"', "msccl.number", {"name": "ngpus"}),
        ('<gpu id="1"', '<gpu id="0"', "msccl.twice", {}),
        ('i_chunks="2"', 'i_chunks="3"', "msccl.lengths_of_buffers", {"inputs": 3, "chunks": 2}),
        ('o_chunks="0"', 'o_chunks="1"', "msccl.lengths_of_buffers", {"outputs": 1}),
        ('send="1"', 'send="2"', "msccl.number", {"name": "send"}),
        ('send="1"', 'send="0"', "msccl.own_peer", {"gpu": 0}),
        ('send="1"', 'send="-1"', "msccl.no_peer", {"type": "s", "name": "send"}),
        ('chan="0"', 'chan="1"', "msccl.nobody_at_other_end", {"peer": 1, "channel": 1}),
        ('chan="0"', 'chan="4"', "msccl.number", {"name": "chan"}),
        ("</tb>", '</tb><tb id="1" send="1" recv="-1" chan="0"/>', "msccl.channel_shared", {"peer": 1, "channel": 0}),
        ("</tb>", '</tb><tb id="0" send="-1" recv="-1" chan="0"/>', "msccl.twice", {}),
        ('s="1"', 's="2"', "msccl.step_expected", {"expected": 1}),
        ('type="rrc"', 'type="rrx"', "msccl.one_of", {"word": "rrx"}),
        ('srcbuf="i"', 'srcbuf="j"', "msccl.one_of", {"name": "srcbuf"}),
        ('srcbuf="i"', "", "msccl.attribute_missing", {"name": "srcbuf"}),
        ('srcoff="1"', 'srcoff="2"', "msccl.outside_of_buffer", {"start": 2, "length": 2}),
        ('srcbuf="i"', 'srcbuf="s"', "msccl.outside_of_buffer", {"buffer": "s", "length": 0}),
        ('cnt="1"', 'cnt="2"', "msccl.outside_of_buffer", {"count": 2}),
        ('cnt="1"', 'cnt="0"', "msccl.number", {"name": "cnt"}),
        ('depid="-1" deps="-1"', 'depid="7" deps="0"', "msccl.waits_for_nothing", {"block": 7}),
        ('depid="-1" deps="-1"', 'depid="0" deps="4"', "msccl.waits_for_nothing", {"step": 4}),
        ('depid="-1" deps="-1"', 'depid="0" deps="3"', "msccl.waits_for_unannounced", {"step": 3}),
    ],
)
def test_a_file_that_is_none_of_an_all_reduce_is_refused_in_one_line(written, good, bad, code, values):
    assert good in halves()
    path = written(halves().replace(good, bad, 1))
    result = called("verify", path, "-n", 2)
    assert result.exit_code == 2 and not result.stdout
    assert has_error(result.stderr, code, **values) and result.stderr.count("\n") == 1, result.stderr
    assert str(path) in result.stderr


def test_another_collective_of_others_is_refused(written):
    result = called("verify", written(text_of(ALL_GATHER)), "-n", 8)
    assert result.exit_code == 2 and has_error(result.stderr, "msccl.collective", collective="allgather")


@pytest.mark.parametrize(
    "content", [b"", b"\0", b"\xff\xfe<", b"<algo", b"<algo/>", b"<a" * 5000], ids=lambda content: str(content[:6])
)
def test_what_is_no_msccl_is_refused_in_one_line(written, content):
    result = called("explain", written(content), "-n", 2)
    assert result.exit_code == 2 and re.fullmatch(r"error: [^\n]+\n", result.stderr), result.stderr


def test_very_long_files_are_refused(written, monkeypatch):
    monkeypatch.setitem(msccl.file.MOST, "steps", 7)
    with pytest.raises(AlgorithmError) as refused:
        find([str(written(halves()))])
    assert has_message(str(refused.value), "msccl.long", what="steps", number=8, most=7)


def test_a_file_is_named_like_an_algorithm_and_fits_its_ranks_alone(written):
    path = written(halves(), "my-two.v1")
    algorithm = find([str(path)])["my-two.v1"]
    assert algorithm.unmet(2, Topology.one_node(2)) is None
    assert has_message(algorithm.unmet(3, Topology.one_node(3)) or "", "msccl.needs_ranks", gpus=2, size=3)
    for name, code in (("torus:2x1", "msccl.name"), ("ring", "algorithms.another_algorithm_named_rename")):
        with pytest.raises(AlgorithmError) as refused:
            find([str(written(halves(), name))])
        assert refused.value.code == code


def test_a_file_is_read_again_when_it_has_changed(written):
    path = written(halves())
    assert algorithm_of(path) is algorithm_of(path)
    before = algorithm_of(path)
    written(doubling())
    assert ranks_of(before) == 2 and ranks_of(algorithm_of(path)) == 4


def mutated(text: str, random: Random) -> str:
    """The text with one thing changed: a step less, another number in an attribute, another type, or two swapped."""
    steps = re.findall(r"<step [^>]*/>", text)
    one, other = random.sample(steps, 2)
    kind = random.randrange(4)
    if kind == 0:
        head, tail = text.split(one, 1)
        block, rest = tail.split("</tb>", 1)
        later = re.sub(r'(?<= )s="(\d+)"', lambda found: f's="{int(found[1]) - 1}"', block)
        return f"{head}{later}</tb>{rest}"
    if kind == 1:
        name = random.choice(["srcoff", "dstoff", "cnt", "depid", "deps", "hasdep"])
        return text.replace(one, re.sub(rf'{name}="-?\d+"', f'{name}="{random.randrange(-1, 9)}"', one), 1)
    if kind == 2:
        word = random.choice(["s", "r", "rrc", "rrs", "rcs", "rrcs", "re", "cpy", "nop"])
        return text.replace(one, re.sub(r'type="\w+"', f'type="{word}"', one), 1)
    blocks = re.findall(r"<tb [^>]*>", text)
    block = random.choice(blocks)
    name = random.choice(["send", "recv", "chan"])
    changed = re.sub(rf'{name}="-?\d+"', f'{name}="{random.randrange(-1, 4)}"', block)
    return text.replace(block, changed, 1) if random.random() < 0.5 else _with_swapped(text, one, other)


def _with_swapped(text: str, one: str, other: str) -> str:
    """The text with what two steps do swapped, in the places that they had."""
    first, second = (re.sub(r's="\d+" ', "", words, count=1)[len("<step ") :] for words in (one, other))
    marked = text.replace(one, one.replace(first, "\0"), 1).replace(other, other.replace(second, "\1"), 1)
    return marked.replace("\0", second).replace("\1", first)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(["halves", "doubling", ONE_STEP]), st.randoms(use_true_random=False))
def test_what_is_proved_of_a_changed_file_holds_in_every_order_of_its_blocks(name, random):
    """Changed files are refused in one sentence, or their additions are the same however the blocks take turns."""
    changed = mutated(text(name), random)
    try:
        file = read(msccl.Path("changed.xml"), changed.encode())
        schedules = converted(file)
    except AlgorithmError as refused:
        assert "\n" not in str(refused)
        return
    verify(schedules, file.chunks)
    inputs = unlike(file.gpus, file.chunks)
    ended = play([exchanges(steps, file.chunks) for steps in schedules], [vector.copy() for vector in inputs])
    for in_place in file.in_place:
        for _ in range(3):
            theirs = run(changed, inputs, in_place, random)
            assert theirs is not None and bits(theirs) == bits(ended)


def test_a_file_is_explained_and_predicted(written):
    path = written(text_of(ONE_STEP), "theirs")
    explained = called("explain", path, "-n", 4)
    assert explained.exit_code == 0 and explained.stdout.startswith("theirs") and "(b) sends" in explained.stdout
    predicted = called(
        "predict", "-n", "4,5", "--sizes", "8,1M", "-a", f"{path},ring", "--alpha", "5us", "--beta", "1e-9"
    )
    assert predicted.exit_code == 0, predicted.output
    assert "theirs" in predicted.stdout and str(path) not in predicted.stdout
    pages = called("explain", path, "-n", 4, "-o", path.with_suffix(".html"))
    assert pages.exit_code == 0 and path.with_suffix(".html").stat().st_size


@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
def test_a_file_is_run_and_checked_like_any_other(written, tmp_path, python):
    in_turn(1, python)
    path, output = written(text_of(ONE_STEP), "theirs"), tmp_path / "run"
    few = ("--launches", 1, "--iters", 2, "--no-reference-times", "--executor=sendrecv,pipelined")
    words = ("-n", 4, "-a", f"{path},ring", "--sizes", "1K", *few, "-o", output)
    result = bench(python, "run", *words)
    assert result.returncode == 0, result.stderr
    assert {name for _, name, _ in done(output)} >= {"theirs", "ring"}
    refused = here("run", "-n", 2, "-a", path, "--sizes", 8, "-o", tmp_path / "other")
    assert has_message(refused.stdout + refused.stderr, "msccl.needs_ranks", name="theirs", gpus=4, size=2)
