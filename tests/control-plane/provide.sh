#!/usr/bin/env bash
# Provides the binaries of a real control plane; README.md says how to start them.
set -euo pipefail

# With --with-suite, e2e.test too: Kubernetes' own end-to-end tests of schedulers.
COMPONENTS=(etcd kube-apiserver kube-controller-manager kube-scheduler kubectl kwok)
readonly GO_MINOR_MIN=26
# How long it may take to notice that there is no network.
readonly PATIENCE_SECONDS=5

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
readonly here root

usage() {
    cat <<USAGE
usage: provide.sh [--with-suite] [--help]

Provides ${COMPONENTS[*]};
with --with-suite also e2e.test, Kubernetes' own end-to-end tests of schedulers.
The last line on stdout is the folder they are in; everything else goes to stderr.

Sources, in this order:
  1. the folder that KUBEBUILDER_ASSETS names, if it holds all of them
  2. .cache/control-plane/VERSION/bin, which the next two fill
  3. official releases, checked against the published checksums
  4. a build from the module proxy with Go 1.$GO_MINOR_MIN or newer, some minutes

The versions are those of kubernetes/go.mod and kwok/go.mod.
USAGE
}

say() { printf '%s\n' "$*" >&2; }

fail() {
    say "control-plane: $*"
    exit 1
}

# The version of a module in one of our go.mod files, without its v.
module_version() {
    awk -v module="$2" '$1 == "require" { $0 = substr($0, 9) }
        $1 == module && $2 ~ /^v/ { print substr($2, 2); found = 1; exit }
        END { exit !found }' "$here/$1/go.mod" || fail "$1/go.mod names no version of $2"
}

version_of() {
    case $1 in
        etcd) printf '%s' "$etcd_version" ;;
        kwok) printf '%s' "$kwok_version" ;;
        *) printf '%s' "$kubernetes_version" ;;
    esac
}

lacking_in_assets() {
    local component
    for component in "${COMPONENTS[@]}"; do
        [[ -f $1/$component && -x $1/$component ]] || printf ' %s' "$component"
    done
}

lacking_in_cache() {
    local component
    for component in "${COMPONENTS[@]}"; do
        [[ -x $bin/$component ]] && grep -qsxF "$component $(version_of "$component")" "$record" ||
            printf '%s\n' "$component"
    done
}

# Puts a finished binary into the cache. Renaming leaves no moment at which half of it is there.
keep() {
    local component=$1 file=$2
    chmod 755 "$file"
    mv -f "$file" "$bin/$component"
    printf '%s %s\n' "$component" "$(version_of "$component")" >>"$record"
}

# Official releases.

# Sets where a component is published, under which name, and where its checksum is. kwok publishes
# no checksums, so that it is always built, where go.sum vouches for it; and so is the suite,
# which is published only with all other tests.
locate() {
    case $1 in
        etcd)
            folder=https://github.com/etcd-io/etcd/releases/download/v$etcd_version
            name=etcd-v$etcd_version-linux-$architecture.tar.gz
            sums=$folder/SHA256SUMS
            ;;
        kube*)
            folder=https://dl.k8s.io/release/v$kubernetes_version/bin/linux/$architecture
            name=$1
            sums=$folder/$name.sha256
            ;;
        *) return 1 ;;
    esac
}

fetch() {
    local address=$1 file=$2
    curl --fail --silent --show-error --location --connect-timeout "$PATIENCE_SECONDS" \
        --speed-limit 1 --speed-time "$PATIENCE_SECONDS" --output "$file" "$address"
}

download() {
    local component=$1 expected actual start=$SECONDS
    fetch "$sums" "$scratch/sums" || return 1
    # One sum per line with the file's name behind it, or nothing but the sum.
    expected=$(awk -v name="$name" 'NF == 1 || $2 == name { print $1; exit }' "$scratch/sums")
    if [[ ! $expected =~ ^[0-9a-f]{64}$ ]]; then
        say "$sums has no checksum of $name"
        return 1
    fi
    say "==> $component $(version_of "$component"): downloading"
    fetch "$folder/$name" "$scratch/$name" || return 1
    actual=$(sha256sum "$scratch/$name" | cut -d ' ' -f 1)
    if [[ $actual != "$expected" ]]; then
        say "$folder/$name has checksum $actual instead of $expected: it is not used"
        return 1
    fi
    if [[ $name == *.tar.gz ]]; then
        tar -xzf "$scratch/$name" -C "$scratch" --strip-components=1 "${name%.tar.gz}/$component"
        rm -f "$scratch/$name"
    fi
    keep "$component" "$scratch/$component"
    say "==> $component $(version_of "$component"): $((SECONDS - start)) s," \
        "$(size_of "$bin/$component")"
}

size_of() { printf '%s MiB' "$(($(wc -c <"$1") / 1048576))"; }

# One failure ends it: without a network the next would only take its seconds too.
download_all() {
    local architecture component folder name sums tool
    case $(uname -sm) in
        'Linux x86_64') architecture=amd64 ;;
        'Linux aarch64') architecture=arm64 ;;
        *)
            say "There are no releases of all components for $(uname -sm)."
            return
            ;;
    esac
    for tool in curl sha256sum tar; do
        if ! command -v "$tool" >/dev/null; then
            say "Releases are not tried: $tool is missing."
            return
        fi
    done
    for component in "$@"; do
        locate "$component" || continue
        if ! download "$component"; then
            say "Releases cannot be had from ${folder%/v[0-9]*}."
            return
        fi
    done
}

# The module proxy.

need_go() {
    local found
    found=$(go env GOVERSION 2>/dev/null || true)
    [[ $found =~ ^go1\.([0-9]+) ]] && ((BASH_REMATCH[1] >= GO_MINOR_MIN)) && return
    fail "Go 1.$GO_MINOR_MIN or newer is needed to build $* (found: ${found:-none});" \
        'install it, or set KUBEBUILDER_ASSETS to a folder with' "${COMPONENTS[@]}"
}

# What the linker writes into the components of Kubernetes, so that /version tells the truth. The
# commit is not known here.
stamps() {
    local package major minor
    IFS=. read -r major minor _ <<<"$kubernetes_version"
    for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
        printf ' -X %s' "$package.gitVersion=v$kubernetes_version" "$package.gitMajor=$major" \
            "$package.gitMinor=$minor" "$package.gitCommit=" "$package.gitTreeState=archive"
    done
}

build() {
    local component=$1 folder=kubernetes package=k8s.io/kubernetes/cmd/$1 flags='-s -w'
    local verb=(build)
    case $component in
        etcd) package=go.etcd.io/etcd/server/v3 ;;
        kwok) folder=kwok package=sigs.k8s.io/kwok/cmd/kwok ;;
        e2e.test) verb=(test -c) package=./suite flags+=$(stamps) ;;
        *) flags+=$(stamps) ;;
    esac
    (cd "$here/$folder" &&
        go "${verb[@]}" -ldflags "$flags" -o "$scratch/$component" "$package" >&2) ||
        fail "$component cannot be built; its modules come from what \`go env GOPROXY\` names"
    keep "$component" "$scratch/$component"
}

# Settings as for the parity oracle, so that the two share Go's build cache.
build_all() {
    local component start at=0
    need_go "$@"
    say "Building $# of ${#COMPONENTS[@]} components takes some minutes on two cores."
    export GOTOOLCHAIN=local GOFLAGS="${GOFLAGS:-} -mod=readonly" GOWORK=off
    for component in "$@"; do
        at=$((at + 1))
        start=$SECONDS
        say "==> $component $(version_of "$component"): building, $at of $#"
        build "$component"
        say "==> $component $(version_of "$component"): $((SECONDS - start)) s," \
            "$(size_of "$bin/$component")"
    done
}

if [[ $# == 1 && ($1 == --help || $1 == -h) ]]; then
    usage
    exit
fi
if [[ ${1:-} == --with-suite ]]; then
    COMPONENTS+=(e2e.test)
    shift
fi
if (($# > 0)); then
    say "control-plane: unexpected arguments: $*"
    usage >&2
    exit 2
fi

if [[ -n ${KUBEBUILDER_ASSETS:-} ]]; then
    lacking=$(lacking_in_assets "$KUBEBUILDER_ASSETS")
    if [[ -z $lacking ]]; then
        say 'Using the binaries in KUBEBUILDER_ASSETS, whichever version they are.'
        cd "$KUBEBUILDER_ASSETS" && pwd
        exit
    fi
    say "Not using KUBEBUILDER_ASSETS ($KUBEBUILDER_ASSETS), which lacks:$lacking"
fi

kubernetes_version=$(module_version kubernetes k8s.io/kubernetes)
etcd_version=$(module_version kubernetes go.etcd.io/etcd/server/v3)
kwok_version=$(module_version kwok sigs.k8s.io/kwok)
cache=$root/.cache/control-plane/$kubernetes_version
bin=$cache/bin
# What is in `bin`: one line per component, with its version.
record=$cache/versions
readonly kubernetes_version etcd_version kwok_version cache bin record

mapfile -t lacking < <(lacking_in_cache)
if ((${#lacking[@]} > 0)); then
    mkdir -p "$bin"
    # Only a run that was killed leaves its scratch folder behind.
    find "$cache" -maxdepth 1 -name 'scratch.*' -mmin +120 -exec rm -rf {} +
    scratch=$(mktemp -d "$cache/scratch.XXXXXX")
    trap 'rm -rf "$scratch"' EXIT
    trap 'exit 130' INT TERM HUP
    download_all "${lacking[@]}"
    mapfile -t lacking < <(lacking_in_cache)
fi
((${#lacking[@]} == 0)) || build_all "${lacking[@]}"
printf '%s\n' "$bin"
