package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

type benchOptions struct {
	file        string
	percentage  int
	maxSeconds  float64
	parallelism int
}

type benchResult struct {
	Scheduled     int     `json:"scheduled"`
	Unschedulable int     `json:"unschedulable"`
	Seconds       float64 `json:"seconds"`
	PodsPerSecond float64 `json:"pods_per_second"`
	Percentage    int     `json:"percentage"`
}

// runBench times the scheduling algorithm alone: snapshot, filter, score and
// assume, pod after pod. Queue, binding and API traffic are left out, and so is
// the first look at pods that are on nodes already.
func runBench(ctx context.Context, opts benchOptions, out io.Writer) error {
	objects, err := readBench(opts.file)
	if err != nil {
		return err
	}
	if len(objects.groups) > 0 {
		return runGroupBench(ctx, opts, objects, out)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	logger := klog.FromContext(ctx)

	client := fake.NewSimpleClientset()
	// The scheduler keeps its snapshot to itself; one that we hand in can be
	// refreshed from outside, as its own loop does before every pod.
	snapshot := internalcache.NewEmptySnapshot()
	percentage := int32(opts.percentage)
	factory := scheduler.NewInformerFactory(client, 0, nil)
	sched, err := scheduler.New(ctx, client, factory, nil,
		func(string) events.EventRecorderLogger { return nil },
		scheduler.WithNodeInfoSnapshot(snapshot),
		scheduler.WithPercentageOfNodesToScore(&percentage),
		scheduler.WithParallelism(int32(opts.parallelism)))
	if err != nil {
		return err
	}
	// Reusing one pod's node ranking for the next identical pod depends on
	// consecutive cycle numbers, which the queue hands out.
	cycles := &countedCycles{SchedulingQueue: sched.SchedulingQueue}
	sched.SchedulingQueue = cycles
	// Nobody starts the informers: what listers are asked for is put in by hand.
	namespaces := factory.Core().V1().Namespaces().Informer().GetStore()
	for _, namespace := range objects.namespaces {
		if err := namespaces.Add(namespace); err != nil {
			return err
		}
	}
	for _, node := range objects.nodes {
		sched.Cache.AddNode(logger, node)
	}
	for _, pod := range objects.bound {
		if err := sched.Cache.AddPod(logger, pod); err != nil {
			return err
		}
	}
	if err := sched.Cache.UpdateSnapshot(logger, snapshot); err != nil {
		return err
	}
	profile := sched.Profiles[corev1.DefaultSchedulerName]

	result := benchResult{Percentage: opts.percentage}
	var spent time.Duration
	limit := time.Duration(opts.maxSeconds * float64(time.Second))
	for _, pod := range objects.pending {
		if spent >= limit {
			break
		}
		info, err := framework.NewPodInfo(pod)
		if err != nil {
			return fmt.Errorf("pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
		// The queue signs pods when they arrive, outside the scheduling cycle.
		queued := &framework.QueuedPodInfo{PodInfo: info, PodSignature: profile.SignPod(ctx, pod)}
		assumed := pod.DeepCopy()

		start := time.Now()
		cycles.number++
		if err := sched.Cache.UpdateSnapshot(logger, snapshot); err != nil {
			return err
		}
		placed, err := sched.SchedulePod(ctx, profile, framework.NewCycleState(), queued)
		if err == nil {
			assumed.Spec.NodeName = placed.SuggestedHost
			err = sched.Cache.AssumePod(logger, assumed)
		}
		spent += time.Since(start)

		var misfit *framework.FitError
		switch {
		case err == nil:
			result.Scheduled++
		case errors.As(err, &misfit), errors.Is(err, scheduler.ErrNoNodesAvailable):
			result.Unschedulable++
		default:
			return fmt.Errorf("pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
	}
	return result.write(spent, out)
}

// write prints what came of a benchmark that took a time.
func (r benchResult) write(spent time.Duration, out io.Writer) error {
	r.Seconds = spent.Seconds()
	if r.Seconds > 0 {
		r.PodsPerSecond = float64(r.Scheduled+r.Unschedulable) / r.Seconds
	}
	return json.NewEncoder(out).Encode(r)
}

// countedCycles is the scheduler's queue with a cycle number that we set, because
// no pod is ever taken from it.
type countedCycles struct {
	internalqueue.SchedulingQueue
	number int64
}

func (q *countedCycles) SchedulingCycle() int64 { return q.number }

// benchObjects is what a benchmark runs on.
type benchObjects struct {
	namespaces []*corev1.Namespace
	nodes      []*corev1.Node
	groups     []*schedulingv1beta1.PodGroup
	bound      []*corev1.Pod
	pending    []*corev1.Pod
}

// readBench reads a header line, then the objects, one a line.
func readBench(path string) (*benchObjects, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var header struct {
		Nodes *int `json:"nodes"`
		Pods  *int `json:"pods"`
	}
	objects := &benchObjects{}
	reader := bufio.NewReaderSize(file, 1<<20)
	for number := 1; ; number++ {
		line, readErr := reader.ReadBytes('\n')
		line = bytes.TrimSpace(line)
		if number == 1 {
			if err := json.Unmarshal(line, &header); err != nil {
				return nil, fmt.Errorf("%s: header: %w", path, err)
			}
		} else if len(line) > 0 {
			obj, err := decodeBench(line)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", path, number, err)
			}
			switch o := obj.(type) {
			case *corev1.Namespace:
				objects.namespaces = append(objects.namespaces, o)
			case *corev1.Node:
				objects.nodes = append(objects.nodes, o)
			case *schedulingv1beta1.PodGroup:
				objects.groups = append(objects.groups, o)
			case *corev1.Pod:
				if o.Spec.NodeName != "" {
					objects.bound = append(objects.bound, o)
				} else {
					objects.pending = append(objects.pending, o)
				}
			default:
				return nil, fmt.Errorf("%s:%d: neither a Namespace nor a Node, a PodGroup or a Pod", path, number)
			}
		}
		if errors.Is(readErr, io.EOF) {
			break
		}
		if readErr != nil {
			return nil, readErr
		}
	}
	nodes, pods := len(objects.nodes), len(objects.bound)+len(objects.pending)
	if header.Nodes != nil && *header.Nodes != nodes || header.Pods != nil && *header.Pods != pods {
		return nil, fmt.Errorf("%s: the header does not match: %d nodes and %d pods follow", path, nodes, pods)
	}
	return objects, nil
}
