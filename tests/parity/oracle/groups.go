package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/sets"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// groupGates make kube-scheduler look for a place for a whole PodGroup, in one
// domain of its topology key.
var groupGates = map[string]bool{
	string(features.GenericWorkload):                 true,
	string(features.TopologyAwareWorkloadScheduling): true,
}

// bindsWithin is how long the goroutines that bind a group's pods may take.
const bindsWithin = time.Minute

// runGroupBench times ScheduleOne for PodGroups, one after the other: snapshot,
// every placement tried, the best one taken, its pods assumed and their bindings
// started. Queue, binding and API traffic are left out: a group is taken from the
// queue before, and its bindings are waited for afterwards.
func runGroupBench(ctx context.Context, opts benchOptions, objects *benchObjects, out io.Writer) error {
	members, err := membersOf(objects)
	if err != nil {
		return err
	}
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(groupGates); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	logger := klog.FromContext(ctx)

	binder := &countingBinder{}
	sched, err := newGroupScheduler(ctx, opts, objects.pending[0].Spec.SchedulerName, binder)
	if err != nil {
		return err
	}
	failed := atomic.Int64{}
	sched.FailureHandler = func(_ context.Context, _ framework.Framework, pod *framework.QueuedPodInfo,
		_ *fwk.Status, _ *fwk.NominatingInfo, _ time.Time) {
		failed.Add(1)
		sched.SchedulingQueue.Done(pod.Pod.UID)
	}
	nodes := make(map[string]*corev1.Node, len(objects.nodes))
	for _, node := range objects.nodes {
		nodes[node.Name] = node
		sched.Cache.AddNode(logger, node)
	}
	for _, pod := range objects.bound {
		if err := sched.Cache.AddPod(logger, pod); err != nil {
			return err
		}
	}

	result := benchResult{Percentage: opts.percentage}
	var spent time.Duration
	limit := time.Duration(opts.maxSeconds * float64(time.Second))
	for _, group := range objects.groups {
		if spent >= limit {
			break
		}
		// As the event handlers do.
		sched.Cache.AddPodGroup(group)
		sched.SchedulingQueue.AddPodGroup(logger, group)
		pods := members[group.Namespace+"/"+group.Name]
		for _, pod := range pods {
			sched.Cache.AddPodGroupMember(pod)
			sched.SchedulingQueue.Add(ctx, pod)
			sched.SchedulingQueue.MoveAllToActiveOrBackoffQueue(logger, framework.EventUnscheduledPodAdd, nil, pod, nil)
		}
		if active := len(sched.SchedulingQueue.PodsInActiveQ()); active != len(pods) {
			return fmt.Errorf("PodGroup %s/%s: %d pods are ready to be scheduled, not %d", group.Namespace, group.Name, active, len(pods))
		}
		entity, err := sched.SchedulingQueue.Pop(logger)
		if err != nil {
			return err
		}
		sched.NextEntity = func(klog.Logger) (framework.QueuedEntityInfo, error) { return entity, nil }
		bound := binder.bound.Load()
		failed.Store(0)

		start := time.Now()
		sched.ScheduleOne(ctx)
		spent += time.Since(start)

		deadline := time.Now().Add(bindsWithin)
		for binder.bound.Load()-bound+failed.Load() < int64(len(pods)) {
			if time.Now().After(deadline) {
				return fmt.Errorf("PodGroup %s/%s: not all pods are bound", group.Namespace, group.Name)
			}
			time.Sleep(100 * time.Microsecond)
		}
		if err := mustShareDomain(group, binder.take(), nodes); err != nil {
			return err
		}
		result.Scheduled += int(binder.bound.Load() - bound)
		result.Unschedulable += int(failed.Load())
	}
	return result.write(spent, out)
}

// newGroupScheduler is kube-scheduler's default profile under a name, with a
// binder that calls nobody.
func newGroupScheduler(ctx context.Context, opts benchOptions, name string, binder *countingBinder) (*scheduler.Scheduler, error) {
	profile := configv1.KubeSchedulerProfile{
		SchedulerName: &name,
		Plugins: &configv1.Plugins{Bind: configv1.PluginSet{
			Enabled:  []configv1.Plugin{{Name: binder.Name()}},
			Disabled: []configv1.Plugin{{Name: names.DefaultBinder}},
		}},
	}
	versioned := configv1.KubeSchedulerConfiguration{Profiles: []configv1.KubeSchedulerProfile{profile}}
	scheme.Scheme.Default(&versioned)
	config := schedulerapi.KubeSchedulerConfiguration{}
	if err := scheme.Scheme.Convert(&versioned, &config, nil); err != nil {
		return nil, err
	}
	client := fake.NewSimpleClientset()
	// The condition of a group that was placed goes nowhere.
	client.PrependReactor("patch", "podgroups", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &schedulingv1beta1.PodGroup{}, nil
	})
	registry := frameworkruntime.Registry{
		binder.Name(): func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) { return binder, nil },
	}
	percentage := int32(opts.percentage)
	return scheduler.New(ctx, client, scheduler.NewInformerFactory(client, 0, nil), nil,
		func(string) events.EventRecorderLogger { return &events.FakeRecorder{} },
		scheduler.WithProfiles(config.Profiles...),
		scheduler.WithFrameworkOutOfTreeRegistry(registry),
		scheduler.WithPercentageOfNodesToScore(&percentage),
		scheduler.WithParallelism(int32(opts.parallelism)))
}

// mustShareDomain fails if the nodes of a group's pods differ in a label that they
// must share: whoever did not care would be fast.
func mustShareDomain(group *schedulingv1beta1.PodGroup, placed []string, nodes map[string]*corev1.Node) error {
	if group.Spec.SchedulingConstraints == nil {
		return nil
	}
	for _, topology := range group.Spec.SchedulingConstraints.Topology {
		domains := sets.New[string]()
		for _, name := range placed {
			domains.Insert(nodes[name].Labels[topology.Key])
		}
		if domains.Len() > 1 {
			return fmt.Errorf("PodGroup %s/%s: its pods are in several domains of %s: %v", group.Namespace, group.Name, topology.Key, sets.List(domains))
		}
	}
	return nil
}

// countingBinder says of every pod that it is bound.
type countingBinder struct {
	bound atomic.Int64
	mutex sync.Mutex
	nodes []string
}

func (b *countingBinder) Name() string { return "CountingBinder" }

func (b *countingBinder) Bind(_ context.Context, _ fwk.CycleState, _ *corev1.Pod, node string) *fwk.Status {
	b.mutex.Lock()
	b.nodes = append(b.nodes, node)
	b.mutex.Unlock()
	b.bound.Add(1)
	return nil
}

// take gives the nodes of the pods that were bound since it was called last.
func (b *countingBinder) take() []string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	nodes := b.nodes
	b.nodes = nil
	return nodes
}

// membersOf gives the pending pods of every group. Pods of no group cannot be
// timed in the same run.
func membersOf(objects *benchObjects) (map[string][]*corev1.Pod, error) {
	members := make(map[string][]*corev1.Pod, len(objects.groups))
	for _, group := range objects.groups {
		members[group.Namespace+"/"+group.Name] = nil
	}
	for _, pod := range objects.pending {
		group := pod.Spec.SchedulingGroup
		if group == nil || group.PodGroupName == nil {
			return nil, fmt.Errorf("pod %s/%s: it is in no PodGroup, and others are", pod.Namespace, pod.Name)
		}
		key := pod.Namespace + "/" + *group.PodGroupName
		if _, ok := members[key]; !ok {
			return nil, fmt.Errorf("pod %s/%s: there is no PodGroup %s", pod.Namespace, pod.Name, key)
		}
		members[key] = append(members[key], pod)
	}
	for key, pods := range members {
		if len(pods) == 0 {
			return nil, fmt.Errorf("PodGroup %s: it has no pods", key)
		}
	}
	return members, nil
}

// decodeBench reads the kinds of cases, and PodGroups.
func decodeBench(line json.RawMessage) (runtime.Object, error) {
	gvk, err := jsonserializer.DefaultMetaFactory.Interpret(line)
	if err != nil {
		return nil, err
	}
	if *gvk != schedulingv1beta1.SchemeGroupVersion.WithKind("PodGroup") {
		return decodeObject(line)
	}
	obj, _, err := decoder.Decode(line, nil, nil)
	return obj, err
}
