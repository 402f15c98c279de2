#!/bin/sh
# Compares the baselines of `kubenexus simulate --trace openb` with the figures that the authors of
# FGD published: GPU allocation in percent at 100 % arrivals, mean of the seeds 42 to 51. The
# traces are not part of this repository.
set -eu

usage() {
	cat <<'END'
usage: check.sh KUBENEXUS FOLDER

KUBENEXUS  the command
FOLDER     has openb_node_list_gpu_node.csv and openb_pod_list_*.csv, or a folder openb with them
END
}

if [ $# -ne 2 ] || [ -z "$2" ] || [ "$1" = --help ]; then
	usage
	[ "${1:-}" = --help ] && exit 0
	exit 2
fi
kubenexus=$1
folder=$2
[ -d "$folder/openb" ] && folder=$folder/openb

# The farthest a figure may be off.
POINTS_MAX=0.6

# variant random bestfit fgd
PUBLISHED='default 86.30 92.86 95.23
cpu100 87.44 93.26 95.21
gpushare40 84.86 91.44 93.96
gpuspec10 86.26 93.10 94.66
multigpu20 86.92 93.73 95.53'

is_off=0
compare() { # VARIANT POLICY PUBLISHED
	# The end of the output is "mean":[...]; the figure at 100 % is the 101st.
	found=$("$kubenexus" simulate --trace openb --policy "$2" --seeds 42..51 --arrivals 130 --json \
		--nodes "$folder/openb_node_list_gpu_node.csv" \
		--pods "$folder/openb_pod_list_$1.csv" |
		sed 's/.*"mean":\[//; s/\].*//' | cut -d , -f 101)
	awk -v variant="$1" -v policy="$2" -v published="$3" -v found="$found" -v max=$POINTS_MAX '
		BEGIN {
			off = found - published
			is_off = found == "" || off > max || off < -max
			printf "%-10s  %-7s  published %6.2f  found %6.2f  off %+5.2f%s\n", variant, policy, \
				published, found, off, is_off ? "  TOO FAR" : ""
			exit is_off
		}' || is_off=1
}

while read -r variant random bestfit fgd; do
	compare "$variant" random "$random"
	compare "$variant" bestfit "$bestfit"
	compare "$variant" fgd "$fgd"
done <<END
$PUBLISHED
END
exit $is_off
