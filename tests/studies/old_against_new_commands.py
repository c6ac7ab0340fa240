"""The commands that `old_against_new.py` compares, in the folder that `old_against_new_inputs.py` fills, one a line.

Words are split as a shell does; behind `::` stands what of the output is compared where the rest is measured, as a
regular expression. WITHOUT_PERMISSION nobody may read the files in `sealed`, nor write to `locked`.
"""

import shlex
from typing import NamedTuple

DRAFT = "--nodes 1,2 --ranks-per-node 2 --sizes 8,64K -a native,ring --launches 2 --seed 1"
STEP = "resnet50 --compute 100ms --alpha 20us --bandwidth 10Gbit"
PRICES = "--alpha 5us --bandwidth 100Gbit"

HELP = """
doctor, demo, run, lab, lab run, lab shell, exec, show, report, compare, stragglers, import,
fit, predict, workload, submit, status, collect, health, list, explain, verify
"""
GOOD = f"""
--version
-h

show
show runs/plain
show runs/plain --format csv
show runs/plain --format json
show runs/plain --format nccl
show runs/plain --format osu
show runs/faulty
show runs/waits
show runs/cold --format long
show runs/groups --format json
show runs/unfinished
show runs/int64 --format nccl
show runs/example --format csv

report runs/before runs/after
report runs/faulty

compare
compare runs/before runs/after
compare runs/before runs/after --format json --threshold 10%
compare runs/before runs/after --format markdown --undecided pass -a ring
compare runs/before runs/after --format junit -o verdicts.xml
compare logs/osu_v7.4_2ranks_case1.txt logs/osu_v7.4_2ranks_case2.txt -n 2
compare logs/nccl_cscs_alps_8xGH200_no_hook_bad.txt logs/nccl_cscs_alps_8xGH200_ofi_hook_good.txt --in-place

stragglers job
stragglers job --format json --trace late.csv
stragglers traces
stragglers late.jsonl --fail
stragglers texts/arrivals.csv --step 100ms
stragglers runs/inspected

import logs/osu_v7.4_2ranks_case1.txt logs/osu_v7.4_2ranks_case2.txt -n 2 -o new
import logs/nccl_cscs_alps_8xGH200_ofi_hook_good.txt -n 8 --in-place -o new
import texts/any.csv --column ranks=nodes --where algo=ring -d int32 -o new
import logs -n 2 -o new
import two_states -n 352 --nodes 4 --algorithm native:ring -o new
import job -o new

fit runs/wide
fit runs/wide --format csv -a "ring,two*"
fit runs/wide --format json -o machine-2.json
fit logs/pico_four_series.csv -n 8

predict machine.json -n 64-70 --sizes 8,64K,16M
predict machine.json -n 2-64 --map
predict -n 8,64 {PRICES} --format json
predict -n 16 {PRICES} --ranks-per-node 4 --alpha-within 1us --bandwidth-within 100GB/s --format csv
predict -n 100 {PRICES} --gamma 1e-10 --segment 64K -a ring,two_tree -o times.txt

workload resnet50
workload {STEP} -n 4 --format json
workload {STEP} -n 4 -o step.json -o step.png
workload gpt2 -n 8 --compute 120ms --dtype bfloat16 -m machine.json
workload bert-base --compute 40ms+60ms -n 8 {PRICES}
workload texts/shapes.csv --compute 10ms -n 4 {PRICES}
workload texts/calls.csv -n 4 {PRICES}
workload resnet50 --compute 10ms --scale 1/64 -m runs/example -a ring
workload resnet50 --compute 10ms -m logs/nccl_cscs_alps_8xGH200_ofi_hook_good.txt -n 8

submit {DRAFT} --dry-run --system one_machine
submit {DRAFT} --dry-run --system workstation
submit {DRAFT} --dry-run --system texts/site.cfg --array -o planned -- --account=me
submit {DRAFT} -o submitted --job-name nightly --time 90m -- --account=me
submit --resume -o half_sweep --dry-run
submit --resume -o half_sweep
status sweep
status half_sweep
collect half_sweep
collect runs/plain runs/plain_again -o merged

health --from pairs/cluster_17_nodes.csv --failed pairs/cluster_17_nodes_failures.txt
health --from pairs/cluster_10_nodes.csv --format json
health --from pairs/cluster_10_nodes.csv --value avg_bus_bw_GBs --value-is rate --threshold 5% --all -o judged
health --from pairs/cluster_17_nodes.csv --print-exclude

list
explain ring -n 4
explain two_tree -n 5 --count 8 --segment 2
explain hierarchical_ring -n 6 --ranks-per-node 2
explain ring -n 4 -o ring.html
explain rabenseifner -n 6 -o picture.svg
explain ring two_tree -n 4 -o two.html
verify ring two_tree -n 1-9 --count 10 --segment 3
verify texts/mine.py -n 2-4
verify texts/wrong.py -n 2-4

run --resume -o runs/plain
exec -n 2 -- python -c "print('said by a rank')"
exec -n 1 -- python -c "raise SystemExit(3)"
run -n 2 -a native,ring --sizes 8,1K --launches 1 --iters 5 --format csv -o new :: \\A.*
run -n 2 -a native,ring --sizes 8,1K --launches 1 --iters 5 --format json -o new :: (?m)^ {{0,2}}"(\\w+)":
workload texts/calls.csv -n 2 -a ring --measure --format json :: "(\\w+)":
doctor --no-launch :: (?m)^(?:ok|info|caution|severe|missing) +(\\w[\\w ]*?) {{2}}
"""
MISUSES = f"""
shwo
-n 4
measure

show nowhere
show runs/empty
show runs/cut
show runs/digit --format json
show runs/without_plan
show runs/half_plan
show runs/without_launches
show runs/plain --format xml
report nowhere
report runs/plain -o texts
report runs/plain --own texts/broken.py

compare runs/plain
compare runs/plain nowhere
compare runs/plain runs/int64
compare runs/before runs/after --threshold 0
compare runs/before runs/after -d int32
compare texts/hello.txt runs/plain
stragglers
stragglers runs/plain
stragglers two_jobs
stragglers texts/arrivals.csv
stragglers texts/empty
stragglers texts/bytes
stragglers job --communicator 0x1
import texts/hello.txt -o new
import texts/empty -o new
import logs/osu_v7.4_2ranks_case1.txt -o new
import logs/osu_v7.4_2ranks_case1.txt -n 2 -d float99 -o new
import logs/osu_v7.4_2ranks_case1.txt -n 2 -o runs/plain
import texts/any.csv --column ranks=absent -o new
import

fit runs/plain -a rign
fit runs/plain -o nowhere/machine.json
fit texts/hello.txt
predict
predict texts/half.json -n 4
predict texts/later.json -n 4
predict machine.json -n 0
predict -n 4 --alpha 5 --bandwidth 100Gbit
predict -n 4 {PRICES} --beta 8e-11
predict -n 2-262144 {PRICES}
predict -n 4 {PRICES} -a ring,rign
workload
workload alexnet
workload resnet50 --compute 1 --alpha 1us --bandwidth 1Gbit
workload texts/bad_shapes.csv
workload resnet50 --compute 1ms -m texts/hello.txt

submit
submit {DRAFT} --dry-run --system nosuch
submit {DRAFT} --dry-run --system texts/bad.cfg
submit {DRAFT} --dry-run --time soon
submit --nodes 2 -p debug
submit --resume -o sweep --sizes 16
submit {DRAFT} --max-node-hours 0 -o planned
status nowhere
collect nowhere
collect runs/plain runs/faulty -o merged
health
health --hosts n1,n2 --from pairs/cluster_10_nodes.csv
health --from texts/hello.txt

explain rign -n 4
explain ring -n 4 -o ring.pdf
explain native:reduce+bcast -n 4
explain texts/broken.py -n 4
verify rign
verify -n 1-2000
run -n 0
run -n 2 -a rign
run -n 2 --op median
run -n 2 --sizes 8-64
run -n 2 --iters 0
run -n 2 --inject-slowdown 5:12% --compute 10ms
run -n 2 --hosts texts/hosts
run -n 2 --groups 3
run -n 2 -a texts/wrong.py
run -n 2 -o runs/plain
run --resume -o runs/plain -n 3 --sizes 16
run --resume -o runs/half_plan
run -n 100000
run --withn 2m
lab run --hosts 99 -- run
exec -n 1 -- nosuchprogram
exec -- true
doctor --slurm --no-launch
"""
WITHOUT_PERMISSION = """
show sealed/run
import sealed/log.txt -n 2 -o new
fit runs/wide -o locked/machine.json
explain ring -n 4 -o locked/ring.txt
run -n 2 -o locked/new
"""


class Command(NamedTuple):
    """One of them."""

    line: str  # as it stands here
    words: tuple[str, ...]
    compared: str = ""  # what of its output, as a regular expression; empty: all, and the files that it writes
    obeys_modes: bool = False  # also where root starts it


def commands() -> list[Command]:
    """All, in order."""
    words = [f"{name.strip()} --help" for name in HELP.split(",")]
    lines = [*words, *_lines(GOOD), *_lines(MISUSES)]
    without = [_command(line)._replace(obeys_modes=True) for line in _lines(WITHOUT_PERMISSION)]
    return [*map(_command, lines), *without]


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]


def _command(line: str) -> Command:
    words, _, compared = line.partition(" :: ")
    return Command(words, tuple(shlex.split(words)), compared)
