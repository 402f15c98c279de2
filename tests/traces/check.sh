#!/bin/sh
# Compares the baselines of `kubenexus simulate --trace openb` with the figures that the authors of
# FGD published: GPU allocation in percent at 100 % arrivals, mean of the seeds 42 to 51. Then tells
# how much of the gap between FGD and what is possible at all the scheduler closes, which fails
# nothing. The traces are not part of this repository.
set -eu

usage() {
	cat <<'END'
usage: check.sh KUBENEXUS FOLDER

KUBENEXUS  the command
FOLDER     has openb_node_list_gpu_node.csv and openb_pod_list_*.csv, or a folder openb with them;
           variants that are not there are skipped
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
# Figures that are farther off, for a reason that is not known: with much CPU asked for, the authors'
# FGD does better than what they describe. An independent simulation was off there as well.
KNOWN=' cpu200/fgd cpu250/fgd '

# variant random bestfit fgd ceiling. The first three are the authors'. The last is the most that
# any policy can serve of the variant's own mix of parts of GPUs, by linear programming over the
# ways to fill a GPU; CPU, memory and models may lower it.
PUBLISHED='default 86.30 92.86 95.23 96.32
cpu050 89.02 93.56 95.00 96.32
cpu100 87.44 93.26 95.21 96.32
cpu200 83.03 92.15 94.82 96.32
cpu250 80.00 91.21 93.20 96.32
gpushare40 84.86 91.44 93.96 94.89
gpushare60 82.81 89.06 91.25 92.41
gpushare80 80.62 86.66 89.08 90.40
gpushare100 78.90 84.62 86.64 88.20
gpuspec10 86.26 93.10 94.66 96.32
gpuspec20 85.90 88.46 94.66 96.32
gpuspec25 85.42 85.67 93.91 96.32
gpuspec33 83.87 80.39 87.84 96.32
multigpu20 86.92 93.73 95.53 96.82
multigpu30 86.63 94.57 96.36 97.20
multigpu40 85.38 95.10 96.91 97.60
multigpu50 81.28 95.62 97.09 97.99'

pods() { # VARIANT
	echo "$folder/openb_pod_list_$1.csv"
}

# The end of the output is "mean":[...]; the figure at 100 % is the 101st.
found() { # VARIANT POLICY
	"$kubenexus" simulate --trace openb --policy "$2" --seeds 42..51 --arrivals 130 --json \
		--nodes "$folder/openb_node_list_gpu_node.csv" --pods "$(pods "$1")" |
		sed 's/.*"mean":\[//; s/\].*//' | cut -d , -f 101
}

is_off=0
compare() { # VARIANT POLICY PUBLISHED
	case $KNOWN in
	*" $1/$2 "*) is_known=1 ;;
	*) is_known=0 ;;
	esac
	awk -v variant="$1" -v policy="$2" -v published="$3" -v found="$(found "$1" "$2")" \
		-v max=$POINTS_MAX -v is_known=$is_known '
		BEGIN {
			off = found - published
			is_off = found == "" || off > max || off < -max
			printf "%-11s  %-9s  published %6.2f  found %6.2f  off %+5.2f%s\n", variant, policy, \
				published, found, off, !is_off ? "" : is_known ? "  far, which is known" : "  TOO FAR"
			exit is_off && !is_known
		}' || is_off=1
}

tell() { # VARIANT FGD CEILING
	error=$(mktemp)
	figure=$(found "$1" kubenexus 2>"$error")
	if [ -z "$figure" ]; then
		printf '%-11s  %-9s  no figure: %s\n' "$1" kubenexus "$(cut -c 1-200 "$error")"
		is_off=1
	else
		awk -v variant="$1" -v found="$figure" -v fgd="$2" -v ceiling="$3" '
			BEGIN {
				printf "%-11s  %-9s  FGD %6.2f  ceiling %6.2f  found %6.2f  gap closed %4.0f %%\n", \
					variant, "kubenexus", fgd, ceiling, found, (found - fgd) * 100 / (ceiling - fgd)
				exit found <= fgd
			}' || is_off=1
	fi
	rm -f "$error"
}

while read -r variant random bestfit fgd ceiling; do
	if [ ! -f "$(pods "$variant")" ]; then
		printf '%-11s  skipped: there is no %s\n' "$variant" "$(pods "$variant")"
		continue
	fi
	compare "$variant" random "$random"
	compare "$variant" bestfit "$bestfit"
	compare "$variant" fgd "$fgd"
	tell "$variant" "$fgd" "$ceiling"
done <<END
$PUBLISHED
END
exit $is_off
