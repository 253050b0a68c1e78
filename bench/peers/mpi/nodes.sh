# Runs a line on the first of so many nodes: see ../../src/peers/mpi/nodes.rs.
set -e
nodes=$1; shift
mount --make-rprivate /
mount -t tmpfs nodes /run/netns 2>/dev/null || { mkdir -p /run/netns; mount -t tmpfs nodes /run/netns; }
echo 127.0.0.1 localhost > /run/netns/names
for n in $(seq "$nodes"); do echo "10.77.0.$n h$n" >> /run/netns/names; done
mount --bind /run/netns/names /etc/hosts
mount -t sysfs machine /sys
hostname h1
ip link set lo up
ip netns add switch
ip -n switch link add switch type bridge
ip -n switch link set switch up
ip link add cable type veth peer name port1 netns switch
ip -n switch link set port1 master switch up
ip addr add 10.77.0.1/24 dev cable
ip link set cable up
for n in $(seq 2 "$nodes"); do
    ip netns add "h$n"
    ip link add "port$n" netns switch type veth peer name cable netns "h$n"
    ip -n switch link set "port$n" master switch up
    ip -n "h$n" addr add "10.77.0.$n/24" dev cable
    ip -n "h$n" link set lo up
    ip -n "h$n" link set cable up
done
cat > /run/netns/shell <<'END'
#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
host=$1; shift
cores=$(echo "$MOTET_NODE_CORES" | cut -d' ' -f"${host#h}")
exec ip netns exec "$host" unshare --uts --pid --fork --mount-proc --kill-child \
    taskset -c "$cores" sh -c "hostname $host; $*"
END
chmod +x /run/netns/shell
for n in $(seq 2 "$nodes"); do
    until [ "$(ip netns exec "h$n" cat /sys/class/net/cable/operstate)" = up ]; do sleep 0.01; done
done
exec taskset -c "${MOTET_NODE_CORES%% *}" "$@"
