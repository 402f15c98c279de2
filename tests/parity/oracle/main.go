// Command oracle answers "what would kube-scheduler say?" for the parity tests
// and benchmarks. It links kube-scheduler's own in-tree plugins and runs them
// in process, without a cluster.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

const usage = `Usage: oracle COMMAND

Commands:
  verdict        read cases as JSON lines from standard input and write one
                 verdict per line, in the same order
  bench FILE     time the real scheduling algorithm on the nodes and pods in FILE
      -percentage N    percentageOfNodesToScore (0: adaptive, 100: all nodes)
      -max-seconds S   stop after S seconds of scheduling (default 20)
      -parallelism N   worker goroutines per scheduling cycle (default 16)
  version        print the kubernetes version that is linked in
`

// errUsage marks a command line that cannot be understood.
var errUsage = errors.New("bad command line")

func main() {
	quiet()
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		if errors.Is(err, errUsage) {
			fmt.Fprint(os.Stderr, usage)
		}
		os.Exit(2)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		fmt.Print(usage)
		return nil
	}
	// Plugins write to metric vectors on every call; these are nil until registered.
	metrics.Register()
	ctx := klog.NewContext(context.Background(), logr.Discard())
	switch args[0] {
	case "-h", "-help", "--help", "help":
		fmt.Print(usage)
		return nil
	case "version":
		version, err := linkedVersion()
		if err != nil {
			return err
		}
		fmt.Println(version)
		return nil
	case "verdict":
		if len(args) > 1 {
			return fmt.Errorf("%w: verdict takes no arguments", errUsage)
		}
		return runVerdicts(ctx, os.Stdin, os.Stdout)
	case "bench":
		opts, err := parseBench(args[1:])
		if err != nil {
			return err
		}
		return runBench(ctx, opts, os.Stdout)
	default:
		return fmt.Errorf("%w: unknown command %q", errUsage, args[0])
	}
}

// parseBench accepts flags before and after FILE.
func parseBench(args []string) (benchOptions, error) {
	opts := benchOptions{}
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.IntVar(&opts.percentage, "percentage", 0, "")
	fs.Float64Var(&opts.maxSeconds, "max-seconds", 20, "")
	fs.IntVar(&opts.parallelism, "parallelism", 16, "")
	if err := fs.Parse(args); err != nil {
		return opts, fmt.Errorf("%w: %w", errUsage, err)
	}
	opts.file = fs.Arg(0)
	if fs.NArg() > 1 {
		if err := fs.Parse(fs.Args()[1:]); err != nil {
			return opts, fmt.Errorf("%w: %w", errUsage, err)
		}
		if fs.NArg() > 0 {
			return opts, fmt.Errorf("%w: bench takes one file", errUsage)
		}
	}
	if opts.file == "" {
		return opts, fmt.Errorf("%w: bench needs a file", errUsage)
	}
	if opts.percentage < 0 || opts.percentage > 100 || opts.parallelism < 1 {
		return opts, fmt.Errorf("%w: -percentage must be 0 to 100 and -parallelism at least 1", errUsage)
	}
	return opts, nil
}

// quiet keeps the libraries' own logging away from the driver, which reads both
// standard output and standard error.
func quiet() {
	klog.SetLogger(logr.Discard())
	utilruntime.ErrorHandlers = nil
}

// linkedVersion reads the kubernetes version from the module information in the
// binary, so that it cannot drift from go.mod.
func linkedVersion() (string, error) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", errors.New("the binary has no module information")
	}
	for _, dep := range info.Deps {
		if dep.Path == "k8s.io/kubernetes" {
			return dep.Version, nil
		}
	}
	return "", errors.New("k8s.io/kubernetes is not among the linked modules")
}
