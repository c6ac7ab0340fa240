"""The scripts that make the hosts of a lab and their network, inside the namespaces of a room, and reach a host.

Each rate limits both ends of a link by a token bucket (tbf): on the host's end what it sends, on the bridge's end what
it receives. A bucket counts whole Ethernet frames, MTU bytes and 14 bytes of header at most, and gives its content for
free after a pause. So it is kept small: one frame, and what comes in while the kernel's timer may be late. (With one
frame alone a link of 100 Mbit/s carried 3 % less; with 64 KiB messages of 64 KiB cost nothing.)
"""

from ..machine.virtual_hosts import ETHERNET, MTU, bucket_nbytes

HOST = ("-n", "-m", "-u", "-i")  # what a host has of its own: network, mounts, name, System V memory
IP_AND_TCP = 20 + 20 + 12  # bytes of header; TCP's with time stamps
PAYLOAD_SHARE = (MTU - IP_AND_TCP) / (MTU + ETHERNET)  # of a link's rate, that is left for messages; 99.3 %


def bucket(rate_bytes_per_s: float | None, mtu: int = MTU) -> str:
    """`RATE:BURST` of a link for the script, in bit/s and bytes; `none` where its rate is unlimited."""
    if rate_bytes_per_s is None:
        return "none"
    return f"{rate_bytes_per_s * 8:.0f}:{bucket_nbytes(rate_bytes_per_s, mtu):.0f}"


AGENT = rf"""#!/bin/bash
# agent [OPTIONS] HOST COMMAND…: like ssh, in a fresh environment. Options are left out, and the values of -o, -l, -p
while [[ $1 == -* ]]; do [[ $1 == -[olp] ]] && shift; shift; done
[[ " $ALLREDUCE_BENCH_LAB" =~ " $1="([0-9]+) ]] || {{ echo "agent: could not resolve host $1" >&2; exit 255; }}
shift
exec env -i HOME="$HOME" PATH="$PATH" TMPDIR="$TMPDIR" ALLREDUCE_BENCH_LAB="$ALLREDUCE_BENCH_LAB" \
    nsenter -t "${{BASH_REMATCH[1]}}" {" ".join(HOST)} bash -c "$*"
"""

# $1 the agent, $2 the MTU, then for each host its `bucket`. It prints the process of each host, and ends with its stdin
SCRIPT = r"""set -e
export AGENT=$1; mtu=$2; shift 2
mount -t tmpfs tmpfs /dev/shm
{
    echo 127.0.0.1 localhost
    for ((number = 1; number <= $#; number++)); do echo 10.77.0.$number h$number; done
} > /dev/shm/hosts
ip link add bridge0 type bridge
ip link set bridge0 mtu $mtu up
number=0
for bucket; do
    number=$((number + 1))
    limit="tbf rate ${bucket%:*}bit burst ${bucket#*:} latency 400ms"
    read -r pid < <(exec unshare HOST bash -ec '
        hostname h'$number'
        mount --bind /dev/shm/hosts /etc/hosts
        mount -t sysfs sysfs /sys
        mount -t tmpfs tmpfs /dev/shm
        printf %s "$AGENT" > /dev/shm/agent
        chmod +x /dev/shm/agent
        echo $$
        exec sleep infinity > /dev/null' < /dev/null)
    ip link add port$number mtu $mtu type veth peer name e0 mtu $mtu netns $pid
    ip link set port$number master bridge0 up
    [ $bucket = none ] || tc qdisc add dev port$number root $limit
    nsenter -t $pid -n bash -ec "
        ip link set lo up
        ip address add 10.77.0.$number/24 dev e0
        ip link set e0 up
        [ $bucket = none ] || tc qdisc add dev e0 root $limit"
    echo $pid
done
echo built
exec cat > /dev/null
""".replace("HOST", " ".join(HOST))
