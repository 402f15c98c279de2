#!/bin/sh
# Labels a node with its NUMA nodes and GPUs, for clusters without kubenexus-agent.
#
#   deploy/label-node.sh NODE                  print the kubectl commands
#   deploy/label-node.sh --apply NODE          run them
#   ssh NODE sh -s NODE < deploy/label-node.sh | sh     from elsewhere
#
# Reads /sys of the machine it runs on, so run it on the node itself. NODE is the name of this host
# if it is left out. --sysfs-root FOLDER reads another tree. What the kernel does not say is left
# out. Labels of hardware that is gone are not removed: kubectl label node NODE KEY-
#
# The agent writes the same keys with the same values, and more; where it is installed it takes
# these over.
set -eu
LC_ALL=C
export LC_ALL

usage() {
    sed -n '2,14s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

fail() {
    printf 'label-node.sh: %s\n' "$1" >&2
    exit 1
}

root=/sys
node=
apply=false
while [ $# -gt 0 ]; do
    case $1 in
    --apply) apply=true ;;
    --sysfs-root)
        [ $# -ge 2 ] || usage
        root=$2
        shift
        ;;
    -*) usage ;;
    *)
        [ -z "$node" ] || usage
        node=$1
        ;;
    esac
    shift
done
[ -n "$node" ] || node=$(uname -n | tr '[:upper:]' '[:lower:]')
case $node in
*[!a-z0-9.-]* | -* | .*) fail "\"$node\" is no name of a node" ;;
esac
nodes=$root/devices/system/node
[ -d "$nodes" ] || fail "there is no $nodes: is this Linux with NUMA support?"

# The first line of a file, or nothing.
first() {
    if [ -r "$1" ]; then head -n 1 "$1"; fi
}

# A list such as 0-3,8: one number per line, or nothing if it is no such list.
expand() {
    printf '%s\n' "$1" | awk '
        /^[ \t]*$/ { exit }
        {
            count = split($0, parts, ",")
            for (i = 1; i <= count; i++) {
                if (parts[i] !~ /^[0-9]+(-[0-9]+)?$/) exit
                split(parts[i], ends, "-")
                last = ends[2] == "" ? ends[1] : ends[2]
                if (ends[1] + 0 > last + 0 || last + 0 > 65535) exit
                for (n = ends[1] + 0; n <= last + 0; n++) all[++found] = n
            }
            for (i = 1; i <= found; i++) print all[i]
        }'
}

# NUMA nodes that are online, in order. The kubelet can align pods with those up to 63.
ids=$(
    online=$(first "$nodes/online")
    for folder in "$nodes"/node[0-9]*; do
        id=${folder##*/node}
        case $id in *[!0-9]*) continue ;; esac
        if [ -z "$online" ] || expand "$online" | grep -qx "$id"; then echo "$id"; fi
    done | sort -n
)

# Arguments of kubectl label and kubectl annotate are collected as words without blanks.
labels=
annotations=
label() { labels="$labels $1=$2"; }

total=0
for id in $ids; do
    if [ "$id" -le 63 ]; then total=$((total + 1)); fi
done
count=0
for id in $ids; do
    [ "$id" -le 63 ] || continue
    count=$((count + 1))
    at=$nodes/node$id
    key=numa.kubenexus.io/node-$id
    if [ -r "$at/cpulist" ]; then
        cpus=$(first "$at/cpulist" | tr -d ' \t')
        value=$(printf '%s' "$cpus" | tr , _)
        if [ -n "$cpus" ] && [ -z "$(expand "$cpus")" ]; then
            : # malformed, so unknown
        elif [ ${#value} -le 63 ]; then
            label "$key-cpus" "$value"
        else
            annotations="$annotations $key-cpus=$cpus"
        fi
    fi
    memory=
    if [ -r "$at/meminfo" ]; then
        memory=$(awk '$3 == "MemTotal:" && $4 ~ /^[0-9]+$/ && $5 == "kB" {
            printf "%.0f", $4 * 1024; exit }' "$at/meminfo")
    fi
    [ -z "$memory" ] || label "$key-memory" "$memory"
    bandwidth=$(first "$at/access0/initiators/read_bandwidth")
    case $bandwidth in
    '' | 0 | *[!0-9]*) ;;
    *) label "$key-bandwidth" "$bandwidth" ;;
    esac
    distances=$(first "$at/distance")
    case $distances in *[!0-9\ ]*) distances= ;; esac
    # One for every node that is online, or the file is not understood. For many nodes there would
    # be too many labels.
    if [ "$total" -le 16 ] &&
        [ "$(printf '%s\n' "$distances" | wc -w)" -eq "$(printf '%s\n' "$ids" | wc -w)" ]; then
        # shellcheck disable=SC2086 # words
        set -- $distances
        for other in $ids; do
            [ "$other" -gt 63 ] || label "$key-distance-$other" "$1"
            shift
        done
    fi
done
[ "$count" -eq 0 ] || label numa.kubenexus.io/node-count "$count"

# GPUs and accelerators in the order of their addresses, as the agent numbers them.
gpu=0
for device in "$root"/bus/pci/devices/*; do
    if [ ! -r "$device/class" ] || [ -L "$device/physfn" ]; then continue; fi
    case $(first "$device/class") in
    0x0302?? | 0x0380?? | 0x1200??) ;;
    0x0300??)
        case $(first "$device/vendor") in 0x10de | 0x1002) ;; *) continue ;; esac
        ;;
    *) continue ;;
    esac
    numa=$(first "$device/numa_node")
    case $numa in
    '' | *[!0-9]*) ;;
    *) [ "$numa" -gt 63 ] || label "gpu.kubenexus.io/gpu$gpu-numa" "$numa" ;;
    esac
    gpu=$((gpu + 1))
done

# Prints a command, or runs it.
run() {
    if $apply; then "$@"; else printf '%s\n' "$*"; fi
}

manager=--field-manager=kubenexus-label-node
# shellcheck disable=SC2086 # words, none of which has a blank or a wildcard
if [ -n "$labels" ]; then
    run kubectl label node "$node" --overwrite $manager $labels
fi
# shellcheck disable=SC2086
if [ -n "$annotations" ]; then
    run kubectl annotate node "$node" --overwrite $manager $annotations
fi
[ -n "$labels$annotations" ] || fail "found neither NUMA nodes nor GPUs below $root"
