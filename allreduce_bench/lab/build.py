"""The script that makes the hosts of a lab and their network, inside the namespaces of a room.

Each rate limits both ends of a link by a token bucket (tbf): on the host's end what it sends, on the bridge's end what
it receives. The bucket holds little more than one frame, so that short messages do not pass for free; it counts whole
Ethernet frames (14 bytes of header, then at most MTU bytes).
"""

MTU = 9000
ETHERNET, IP_AND_TCP = 14, 20 + 20 + 12  # bytes of header: without the checksum of a frame; TCP with time stamps
BURST = 9_216  # bytes: one frame, rounded up
PAYLOAD_SHARE = (MTU - IP_AND_TCP) / (MTU + ETHERNET)  # of a link's rate, that messages can use

# $1 the MTU, $2 the burst, then for each host the rate in bit/s, or none. It prints the process of each host, and ends
# with its stdin. What fails is the last line of stderr.
SCRIPT = r"""set -e
mtu=$1 burst=$2; shift 2
mount -t tmpfs tmpfs /dev/shm
{
    echo 127.0.0.1 localhost
    for ((number = 1; number <= $#; number++)); do echo 10.77.0.$number h$number; done
} > /dev/shm/hosts
ip link add bridge0 type bridge
ip link set bridge0 mtu $mtu up
number=0
for rate; do
    number=$((number + 1))
    [ $rate = none ] || limit="tbf rate ${rate}bit burst $burst latency 400ms"
    read -r pid < <(exec unshare -n -m -u -i bash -ec '
        hostname h'$number'
        mount --bind /dev/shm/hosts /etc/hosts
        mount -t sysfs sysfs /sys
        mount -t tmpfs tmpfs /dev/shm
        echo $$
        exec sleep infinity > /dev/null' < /dev/null)
    ip link add port$number mtu $mtu type veth peer name e0 mtu $mtu netns $pid
    ip link set port$number master bridge0 up
    [ $rate = none ] || tc qdisc add dev port$number root $limit
    nsenter -t $pid -n bash -ec "
        ip link set lo up
        ip address add 10.77.0.$number/24 dev e0
        ip link set e0 up
        [ $rate = none ] || tc qdisc add dev e0 root $limit"
    echo $pid
done
echo built
exec cat > /dev/null
"""
