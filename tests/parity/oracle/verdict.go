package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	resourceslicetracker "k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	configscheme "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"
)

// testCase is one line of input.
type testCase struct {
	ID      json.RawMessage   `json:"id"`
	Config  json.RawMessage   `json:"config"`
	Objects []json.RawMessage `json:"objects"`
	Pod     json.RawMessage   `json:"pod"`
}

// verdict is one line of output.
type verdict struct {
	ID         json.RawMessage         `json:"id"`
	Error      *string                 `json:"error"`
	Prefilter  *rejection              `json:"prefilter"`
	Nodes      map[string]*nodeVerdict `json:"nodes"`
	Preemption *preemptionVerdict      `json:"preemption"`
	Allocation map[string][]string     `json:"allocation"`
}

type rejection struct {
	Plugin  string   `json:"plugin"`
	Code    string   `json:"code"`
	Reasons []string `json:"reasons"`
}

// nodeVerdict is either feasible with scores, or infeasible with a rejection.
type nodeVerdict struct {
	Feasible bool
	Scores   map[string]int64
	Total    int64
	Rejected *rejection
}

func (n *nodeVerdict) MarshalJSON() ([]byte, error) {
	if n.Feasible {
		return json.Marshal(struct {
			Feasible bool             `json:"feasible"`
			Scores   map[string]int64 `json:"scores"`
			Total    int64            `json:"total"`
		}{true, n.Scores, n.Total})
	}
	return json.Marshal(struct {
		Feasible bool `json:"feasible"`
		*rejection
	}{false, n.Rejected})
}

// runVerdicts answers every line of in, in order, one line each.
func runVerdicts(ctx context.Context, in io.Reader, out io.Writer) error {
	workbench := newWorkbench(ctx)
	reader := bufio.NewReaderSize(in, 1<<20)
	for {
		line, err := reader.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			answer, encodeErr := encode(workbench.answer(ctx, line))
			if encodeErr != nil {
				return encodeErr
			}
			// One write per line: the driver may wait for it.
			if _, writeErr := out.Write(answer); writeErr != nil {
				return writeErr
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// encode keeps <, > and & as they are: they occur in reasons.
func encode(v *verdict) ([]byte, error) {
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return buf.Bytes(), err
}

// maxRigs bounds the memory for frameworks of different configurations.
const maxRigs = 64

// workbench keeps a rig per configuration and profile, because building the
// plugins costs more than judging a pod.
type workbench struct {
	client kubernetes.Interface
	groups internalcache.Cache
	rigs   map[string]*rig
	// panics counts panics that the plugins' worker goroutines swallowed.
	panics atomic.Int64
	// lastPanic is the latest of them.
	lastPanic atomic.Value
}

func newWorkbench(ctx context.Context) *workbench {
	b := &workbench{
		client: fake.NewSimpleClientset(),
		groups: internalcache.New(ctx, nil, utilfeature.DefaultFeatureGate.Enabled(features.GenericWorkload),
			utilfeature.DefaultFeatureGate.Enabled(features.CompositePodGroup)),
		rigs: map[string]*rig{},
	}
	// A panic in a worker goroutine cannot be recovered by the goroutine that
	// waits for it: keep the process alive and look at the count afterwards.
	utilruntime.ReallyCrash = false
	utilruntime.PanicHandlers = []func(context.Context, any){func(_ context.Context, r any) {
		b.lastPanic.Store(fmt.Sprint(r))
		b.panics.Add(1)
	}}
	return b
}

// answer never fails: whatever goes wrong is said in the verdict's error.
func (b *workbench) answer(ctx context.Context, line []byte) *verdict {
	var c testCase
	if err := json.Unmarshal(line, &c); err != nil {
		return &verdict{Error: text(fmt.Errorf("the case is not valid JSON: %w", err))}
	}
	v, err := b.judge(ctx, &c)
	if err != nil {
		return &verdict{ID: c.ID, Error: text(err)}
	}
	v.ID = c.ID
	return v
}

func text(err error) *string {
	s := err.Error()
	return &s
}

func (b *workbench) judge(ctx context.Context, c *testCase) (v *verdict, err error) {
	pod, objects, err := decodeCase(c)
	if err != nil {
		return nil, err
	}
	key, r, err := b.rigFor(ctx, c.Config, pod.Spec.SchedulerName)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(objects, allocatable) {
		// The plugins remember by name how devices and nodes matched; the same
		// names mean something else in the next case.
		defer b.drop(key)
	}
	before := b.panics.Load()
	defer func() {
		// A worker that panicked is counted a moment after it is waited for.
		for tries := 0; errors.Is(err, errUnfinished) && tries < 100 && b.panics.Load() == before; tries++ {
			time.Sleep(10 * time.Millisecond)
		}
		if p := recover(); p != nil {
			v, err = nil, fmt.Errorf("panic: %v", p)
		} else if b.panics.Load() != before {
			v, err = nil, fmt.Errorf("panic in a plugin: %v", b.lastPanic.Load())
		} else {
			return
		}
		// Whatever the plugins hold may be half updated.
		b.drop(key)
	}()
	if err := r.cluster.load(objects); err != nil {
		return nil, err
	}
	return r.judge(ctx, pod)
}

// drop forgets a rig, so that the next case gets a fresh one.
func (b *workbench) drop(key string) {
	if r, ok := b.rigs[key]; ok {
		r.close()
		delete(b.rigs, key)
	}
}

// allocatable tells the kinds of dynamic resource allocation.
func allocatable(obj runtime.Object) bool {
	return obj.GetObjectKind().GroupVersionKind().Group == resourcev1.GroupName
}

func decodeCase(c *testCase) (*corev1.Pod, []runtime.Object, error) {
	objects := make([]runtime.Object, 0, len(c.Objects))
	for i, raw := range c.Objects {
		obj, err := decodeObject(raw)
		if err != nil {
			return nil, nil, fmt.Errorf("objects[%d]: %w", i, err)
		}
		if obj != nil {
			objects = append(objects, obj)
		}
	}
	if absent(c.Pod) {
		return nil, nil, errors.New("the case has no pod")
	}
	obj, err := decodeObject(c.Pod)
	if err != nil {
		return nil, nil, fmt.Errorf("pod: %w", err)
	}
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil, nil, errors.New("pod: not a Pod")
	}
	return pod, objects, nil
}

func absent(raw json.RawMessage) bool {
	return len(raw) == 0 || string(raw) == "null"
}

// rigFor returns the rig that judges a pod of this scheduler name under this configuration.
func (b *workbench) rigFor(ctx context.Context, raw json.RawMessage, schedulerName string) (string, *rig, error) {
	if absent(raw) {
		raw, schedulerName = nil, corev1.DefaultSchedulerName
	}
	key := schedulerName + "\n" + string(raw)
	if r, ok := b.rigs[key]; ok {
		return key, r, nil
	}
	cfg, err := loadConfig(raw)
	if err != nil {
		return "", nil, fmt.Errorf("config: %w", err)
	}
	i := slices.IndexFunc(cfg.Profiles, func(p config.KubeSchedulerProfile) bool {
		return p.SchedulerName == schedulerName
	})
	if i < 0 {
		return "", nil, fmt.Errorf("config: no profile for scheduler name %q", schedulerName)
	}
	r, err := newRig(ctx, b.client, b.groups, &cfg.Profiles[i])
	if err != nil {
		return "", nil, fmt.Errorf("config: %w", err)
	}
	if len(b.rigs) >= maxRigs {
		for old := range b.rigs {
			b.drop(old)
		}
	}
	b.rigs[key] = r
	return key, r, nil
}

// loadConfig decodes strictly and defaults and validates as kube-scheduler does
// with its --config file.
func loadConfig(raw json.RawMessage) (*config.KubeSchedulerConfiguration, error) {
	if raw == nil {
		return latest.Default()
	}
	obj, gvk, err := configscheme.Codecs.UniversalDecoder().Decode(raw, nil, nil)
	if err != nil {
		return nil, err
	}
	cfg, ok := obj.(*config.KubeSchedulerConfiguration)
	if !ok {
		return nil, fmt.Errorf("%s is not a KubeSchedulerConfiguration", gvk)
	}
	// Validation looks at the version that was read, which conversion drops.
	cfg.APIVersion = gvk.GroupVersion().String()
	if err := validation.ValidateKubeSchedulerConfiguration(cfg); err != nil {
		return nil, err
	}
	if len(cfg.Extenders) > 0 {
		return nil, errors.New("extenders need a server to call and are not judged")
	}
	return cfg, nil
}

// rig is the framework of one profile together with the cluster it looks at.
type rig struct {
	framework framework.Framework
	cluster   *cluster
	// plugins holds the plugin instances themselves, by name.
	plugins map[string]fwk.Plugin
	// order is the resolved set of plugins per extension point.
	order *config.Plugins
	// claims sees the allocations that the plugins make.
	claims *claimRecorder
	close  context.CancelFunc
}

func newRig(ctx context.Context, client kubernetes.Interface, groups internalcache.Cache, profile *config.KubeSchedulerProfile) (*rig, error) {
	ctx, cancel := context.WithCancel(ctx)
	r := &rig{cluster: newCluster(client), plugins: map[string]fwk.Plugin{}, close: cancel}
	dra, err := newDRAManager(ctx, r.cluster)
	if err != nil {
		cancel()
		return nil, err
	}
	r.claims = &claimRecorder{SharedDRAManager: dra}

	// Preemption and the attribution of excluded nodes need the plugins
	// themselves, which the framework does not give out.
	registry := frameworkruntime.Registry{}
	for name, factory := range plugins.NewInTreeRegistry() {
		registry[name] = func(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
			plugin, err := factory(ctx, args, handle)
			r.plugins[name] = plugin
			return plugin, err
		}
	}
	r.framework, err = frameworkruntime.NewFramework(ctx, registry, profile,
		frameworkruntime.WithComponentConfigVersion("kubescheduler.config.k8s.io/v1"),
		frameworkruntime.WithClientSet(client),
		frameworkruntime.WithInformerFactory(r.cluster.factory),
		frameworkruntime.WithSnapshotSharedLister(r.cluster.snapshot),
		frameworkruntime.WithMutableSnapshotLister(r.cluster.snapshot),
		frameworkruntime.WithPodNominator(r.cluster.nominated),
		frameworkruntime.WithSharedDRAManager(r.claims),
		frameworkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(r.cluster.factory.Storage().V1().CSINodes().Lister())),
		frameworkruntime.WithPodGroupManager(groups),
		// Cases are small: more workers only cost goroutines.
		frameworkruntime.WithParallelism(1),
	)
	if err != nil {
		cancel()
		return nil, err
	}
	r.order = r.framework.ListPlugins()
	return r, nil
}

// newDRAManager wires the resource caches to the informers in the way that the
// scheduler's own constructor does.
func newDRAManager(ctx context.Context, c *cluster) (fwk.SharedDRAManager, error) {
	resources := c.factory.Resource().V1()
	claims := assumecache.NewAssumeCache(klog.FromContext(ctx), resources.ResourceClaims().Informer(), "ResourceClaim", "", nil)
	options := resourceslicetracker.Options{
		EnableDeviceTaintRules:   utilfeature.DefaultFeatureGate.Enabled(features.DRADeviceTaintRules),
		EnableConsumableCapacity: utilfeature.DefaultFeatureGate.Enabled(features.DRAConsumableCapacity),
		SliceInformer:            resources.ResourceSlices(),
	}
	if options.EnableDeviceTaintRules {
		options.TaintInformer = resources.DeviceTaintRules()
	}
	slices, err := resourceslicetracker.StartTracker(ctx, options)
	if err != nil {
		return nil, err
	}
	manager := dynamicresources.NewDRAManager(ctx, claims, slices, c.factory)
	// The cache of extended resources backed by device classes is an event handler.
	if handler, ok := manager.DeviceClassResolver().(cache.ResourceEventHandler); ok {
		if _, err := resources.DeviceClasses().Informer().AddEventHandler(handler); err != nil {
			return nil, err
		}
	}
	return manager, nil
}

// judge runs one scheduling cycle without its shortcuts: every node is filtered
// and every feasible one is scored.
func (r *rig) judge(ctx context.Context, pod *corev1.Pod) (*verdict, error) {
	v := &verdict{Nodes: map[string]*nodeVerdict{}}
	nodes, err := r.cluster.snapshot.NodeInfos().List()
	if err != nil {
		return nil, err
	}
	if len(nodes) == 0 {
		// kube-scheduler gives up here, before any plugin runs.
		return v, nil
	}

	state := framework.NewCycleState()
	statuses := framework.NewDefaultNodeToStatus()
	result, status, excluders := r.framework.RunPreFilterPlugins(ctx, state, pod)
	if !status.IsSuccess() {
		v.Prefilter = reject(status)
		if status.IsRejected() {
			statuses.SetAbsentNodesStatus(status)
			v.Preemption = r.preempt(ctx, state, pod, statuses)
		}
		return v, nil
	}
	excluded := r.excludedBy(ctx, pod, nodes, result, excluders)
	if !result.AllNodes() {
		statuses.SetAbsentNodesStatus(exclusion(excluders))
	}

	var feasible []fwk.NodeInfo
	failed := false
	for _, node := range nodes {
		name := node.Node().Name
		if plugin, ok := excluded[name]; ok {
			v.Nodes[name] = &nodeVerdict{Rejected: reject(exclusion(excluders).WithPlugin(plugin))}
			continue
		}
		status := r.framework.RunFilterPluginsWithNominatedPods(ctx, state, pod, node)
		if status.IsSuccess() {
			feasible = append(feasible, node)
			continue
		}
		failed = failed || !status.IsRejected()
		status = r.firstDriver(ctx, pod, node, status)
		statuses.Set(name, status)
		v.Nodes[name] = &nodeVerdict{Rejected: reject(status)}
	}

	if len(feasible) == 0 {
		if !failed {
			v.Preemption = r.preempt(ctx, state, pod, statuses)
		}
		return v, nil
	}
	if err := r.score(ctx, state, pod, feasible, v); err != nil {
		return nil, err
	}
	if !failed {
		v.Allocation = r.allocate(ctx, state, pod, v)
	}
	return v, nil
}

// exclusion is the status of nodes that a PreFilter result leaves out.
func exclusion(excluders sets.Set[string]) *fwk.Status {
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable,
		fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", sets.List(excluders)))
}

// excludedBy maps each node outside the PreFilter result to the first plugin in
// configured order that leaves it out.
func (r *rig) excludedBy(ctx context.Context, pod *corev1.Pod, nodes []fwk.NodeInfo, result *fwk.PreFilterResult, excluders sets.Set[string]) map[string]string {
	excluded := map[string]string{}
	if result.AllNodes() {
		return excluded
	}
	for _, configured := range r.order.PreFilter.Enabled {
		if !excluders.Has(configured.Name) {
			continue
		}
		// The framework returns only the intersection, so ask again, alone and
		// with a state of its own.
		own, _ := r.plugins[configured.Name].(fwk.PreFilterPlugin).PreFilter(ctx, framework.NewCycleState(), pod, nodes)
		for _, node := range nodes {
			name := node.Node().Name
			if _, done := excluded[name]; !done && !own.AllNodes() && !own.NodeNames.Has(name) {
				excluded[name] = configured.Name
			}
		}
	}
	return excluded
}

// errUnfinished is what a worker leaves behind that panicked.
var errUnfinished = errors.New("scoring did not finish for all nodes")

func (r *rig) score(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, feasible []fwk.NodeInfo, v *verdict) error {
	if status := r.framework.RunPreScorePlugins(ctx, state, pod, feasible); !status.IsSuccess() {
		return status.AsError()
	}
	scored, status := r.framework.RunScorePlugins(ctx, state, pod, feasible)
	if !status.IsSuccess() {
		return status.AsError()
	}
	for _, node := range scored {
		if node.Name == "" {
			return errUnfinished
		}
		nv := &nodeVerdict{Feasible: true, Scores: map[string]int64{}, Total: node.TotalScore}
		for _, s := range node.Scores {
			nv.Scores[s.Name] = s.Score
		}
		v.Nodes[node.Name] = nv
	}
	return nil
}

// reject words a status as a verdict.
func reject(status *fwk.Status) *rejection {
	reasons := slices.Clone(status.Reasons())
	if reasons == nil {
		reasons = []string{}
	}
	if status.Plugin() == names.NodeResourcesFit && status.IsRejected() {
		sortScalars(reasons)
	}
	return &rejection{Plugin: status.Plugin(), Code: status.Code().String(), Reasons: reasons}
}

// sortScalars sorts the reasons for extended resources and huge pages, which
// come last and in the random order of a map.
func sortScalars(reasons []string) {
	fixed := []string{"Too many pods", "Insufficient cpu", "Insufficient memory", "Insufficient ephemeral-storage"}
	i := 0
	for i < len(reasons) && slices.Contains(fixed, reasons[i]) {
		i++
	}
	slices.Sort(reasons[i:])
}
