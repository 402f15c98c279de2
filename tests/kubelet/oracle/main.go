// Command oracle answers "what would the kubelet do?": it plays pods that come and go through the
// kubelet's own topology, CPU, memory and device managers, on machines that are only described.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/go-logr/logr"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
)

// lineMax bounds a case; 8 zones with 64 CPUs each and fifty pods are some 100 KiB.
const lineMax = 16 << 20

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(2)
	}
}

func run(in io.Reader, out io.Writer) error {
	klog.SetLogger(logr.Discard())
	ctx := klog.NewContext(context.Background(), logr.Discard())
	// Options of the CPU manager that a kubelet takes only with this gate are compared too.
	if err := utilfeature.DefaultMutableFeatureGate.Set("CPUManagerPolicyAlphaOptions=true"); err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, lineMax)
	writer := bufio.NewWriter(out)
	for lines.Scan() {
		verdict := struct {
			Steps []*answer `json:"steps"`
			Error string    `json:"error,omitempty"`
		}{}
		var of aCase
		err := json.Unmarshal(lines.Bytes(), &of)
		if err == nil {
			verdict.Steps, err = judge(ctx, &of)
		}
		if err != nil {
			verdict.Error = err.Error()
		}
		text, err := json.Marshal(verdict)
		if err != nil {
			return err
		}
		if _, err := writer.Write(append(text, '\n')); err != nil {
			return err
		}
		if err := writer.Flush(); err != nil {
			return err
		}
	}
	return lines.Err()
}
