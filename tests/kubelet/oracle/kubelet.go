package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	cpustate "k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/topology"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager"
	memorystate "k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/config"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/utils/cpuset"
)

// kubelet is the part of a kubelet that admits pods.
type kubelet struct {
	folder    string
	topology  topologymanager.Manager
	devices   *devicemanager.ManagerImpl
	connected sets.Set[string]
	cpus      *cpuProvider
	memory    *memoryProvider
	pods      []*v1.Pod
}

// newKubelet starts the managers in the order in which the kubelet does.
func newKubelet(ctx context.Context, machine *aMachine) (_ *kubelet, err error) {
	logger := klog.FromContext(ctx)
	info := machine.topology()
	k := &kubelet{connected: sets.New[string]()}
	if k.topology, err = topologymanager.NewManager(logger, info.Topology, machine.Policy, machine.Scope, machine.PolicyOptions); err != nil {
		return nil, err
	}
	if k.folder, err = os.MkdirTemp("", "kubelet-oracle-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			k.stop(ctx)
		}
	}()
	if k.devices, err = newDeviceManager(logger, filepath.Join(k.folder, "s"), info.Topology, k.topology); err != nil {
		return nil, err
	}
	ready := config.NewSourcesReady(func(sets.Set[string]) bool { return true })
	active := func() []*v1.Pod { return k.pods }
	if err = k.devices.Start(logger, active, ready, containermap.NewContainerMap(), sets.New[string]()); err != nil {
		return nil, err
	}
	if err = k.list(ctx, machine.Devices); err != nil {
		return nil, err
	}
	k.topology.AddHintProvider(logger, k.devices)
	if machine.CPUPolicy == "static" {
		if err = k.startCPUs(logger, machine); err != nil {
			return nil, err
		}
	}
	if machine.MemoryPolicy == "Static" {
		policy, err := memorymanager.NewPolicyStatic(logger, info, machine.reservedMemory(), k.topology)
		if err != nil {
			return nil, err
		}
		k.memory = &memoryProvider{policy: policy, state: memorystate.NewMemoryState(logger)}
		if err := policy.Start(logger, k.memory.state); err != nil {
			return nil, err
		}
		k.topology.AddHintProvider(logger, k.memory)
	}
	return k, nil
}

func (k *kubelet) startCPUs(logger klog.Logger, machine *aMachine) error {
	discovered, err := topology.Discover(logger, machine.topology())
	if err != nil {
		return err
	}
	reserved := cpuset.New(machine.ReservedCPUs...)
	policy, err := cpumanager.NewStaticPolicy(logger, discovered, reserved.Size(), reserved, k.topology, machine.CPUOptions)
	if err != nil {
		return err
	}
	k.cpus = &cpuProvider{policy: policy, state: cpustate.NewMemoryState(logger)}
	k.topology.AddHintProvider(logger, k.cpus)
	return policy.Start(logger, k.cpus.state)
}

func (k *kubelet) stop(ctx context.Context) {
	if k.devices != nil {
		_ = k.devices.Stop(klog.FromContext(ctx))
	}
	_ = os.RemoveAll(k.folder)
}

// list tells the device manager what plugins offer.
func (k *kubelet) list(ctx context.Context, devices map[string][]device) error {
	for name, of := range devices {
		if !k.connected.Has(name) {
			k.connected.Insert(name)
			if err := k.devices.PluginConnected(ctx, name, &plugin{resource: name}); err != nil {
				return err
			}
		}
		k.devices.PluginListAndWatchReceiver(klog.FromContext(ctx), name, listed(of))
	}
	return nil
}

// step does what the step says and tells what became of it.
func (k *kubelet) step(ctx context.Context, step *aStep) (*answer, error) {
	answer := &answer{}
	switch {
	case step.Add != nil:
		k.admit(ctx, step.Add.object(), answer)
	case step.Started != "":
		k.endInit(ctx, step.Started)
	case step.Remove != "":
		k.remove(ctx, step.Remove)
	default:
		if err := k.list(ctx, step.Devices); err != nil {
			return nil, err
		}
	}
	answer.State = k.state()
	return answer, nil
}

func (k *kubelet) admit(ctx context.Context, pod *v1.Pod, answer *answer) {
	k.pods = append(k.pods, pod)
	attributes := &lifecycle.PodAdmitAttributes{Pod: pod, OtherPods: k.pods, Operation: lifecycle.AddOperation}
	result := k.topology.Admit(ctx, attributes)
	answer.Admitted, answer.Reason, answer.Message = result.Admit, result.Reason, result.Message
	for _, container := range containers(pod) {
		answer.Containers = append(answer.Containers, k.container(ctx, pod, container.Name))
	}
	if !result.Admit {
		k.remove(ctx, pod.Name)
	}
}

// endInit does what the memory manager does while the containers of a pod start.
func (k *kubelet) endInit(ctx context.Context, name string) {
	for _, pod := range k.pods {
		for _, container := range pod.Spec.InitContainers {
			if pod.Name == name && container.RestartPolicy == nil && k.memory != nil {
				k.memory.policy.RemoveContainer(klog.FromContext(ctx), k.memory.state, name, container.Name)
			}
		}
	}
}

// remove does what the managers do, each when it next has to, once a pod is not active any more.
func (k *kubelet) remove(ctx context.Context, name string) {
	logger := klog.FromContext(ctx)
	for _, pod := range k.pods {
		if pod.Name != name {
			continue
		}
		for _, container := range containers(pod) {
			if k.cpus != nil {
				_ = k.cpus.policy.RemoveContainer(logger, k.cpus.state, name, container.Name)
			}
			if k.memory != nil {
				k.memory.policy.RemoveContainer(logger, k.memory.state, name, container.Name)
			}
		}
	}
	k.pods = slices.DeleteFunc(slices.Clone(k.pods), func(pod *v1.Pod) bool { return pod.Name == name })
	k.devices.UpdateAllocatedDevices(logger)
}

func (k *kubelet) container(ctx context.Context, pod *v1.Pod, name string) aTaken {
	uid := string(pod.UID)
	taken := aTaken{Devices: devicesOf(k.devices, uid, name)}
	hint := k.topology.GetAffinity(klog.FromContext(ctx), uid, name)
	if hint.NUMANodeAffinity != nil {
		zones := hint.NUMANodeAffinity.GetBits()
		taken.Zones = &zones
	}
	if k.cpus != nil {
		if cpus, ok := k.cpus.state.GetCPUSet(uid, name); ok {
			taken.CPUs = cpus.List()
		}
	}
	if k.memory != nil {
		for _, block := range k.memory.state.GetMemoryBlocks(uid, name) {
			taken.Blocks = append(taken.Blocks, aBlock{block.NUMAAffinity, string(block.Type), block.Size})
		}
	}
	return taken
}

func devicesOf(manager *devicemanager.ManagerImpl, uid, container string) map[string][]string {
	devices := map[string][]string{}
	for resource, instances := range manager.GetDevices(uid, container) {
		for id := range instances {
			devices[resource] = append(devices[resource], id)
		}
		sort.Strings(devices[resource])
	}
	return devices
}

func (k *kubelet) state() aState {
	state := aState{Devices: map[string][]string{}}
	for _, pod := range k.pods {
		for _, container := range containers(pod) {
			for resource, ids := range devicesOf(k.devices, string(pod.UID), container.Name) {
				all := sets.New(append(state.Devices[resource], ids...)...)
				state.Devices[resource] = sets.List(all)
			}
		}
	}
	if k.cpus != nil {
		shared := k.cpus.state.GetDefaultCPUSet().List()
		state.Shared = &shared
	}
	if k.memory != nil {
		for id, node := range k.memory.state.GetMachineState() {
			zone := aZoneState{ID: id, Assignments: node.NumberOfAssignments, Group: node.Cells, Free: map[string]uint64{}}
			for kind, table := range node.MemoryMap {
				zone.Free[string(kind)] = table.Free
			}
			state.Memory = append(state.Memory, zone)
		}
		sort.Slice(state.Memory, func(i, j int) bool { return state.Memory[i].ID < state.Memory[j].ID })
	}
	return state
}

// answer is what became of a step.
type answer struct {
	Admitted   bool     `json:"admitted"`
	Reason     string   `json:"reason,omitempty"`
	Message    string   `json:"message,omitempty"`
	Containers []aTaken `json:"containers,omitempty"`
	State      aState   `json:"state"`
}

type aTaken struct {
	Zones   *[]int              `json:"zones"`
	CPUs    []int               `json:"cpus,omitempty"`
	Devices map[string][]string `json:"devices,omitempty"`
	Blocks  []aBlock            `json:"blocks,omitempty"`
}

type aBlock struct {
	Zones []int  `json:"zones"`
	Kind  string `json:"kind"`
	Size  uint64 `json:"size"`
}

// aState is all that is taken, once the step is done. Without a static CPU manager there is no
// shared pool, and without a static memory manager there is no memory.
type aState struct {
	Shared  *[]int              `json:"shared"`
	Devices map[string][]string `json:"devices"`
	Memory  []aZoneState        `json:"memory"`
}

type aZoneState struct {
	ID          int               `json:"id"`
	Assignments int               `json:"assignments"`
	Group       []int             `json:"group"`
	Free        map[string]uint64 `json:"free"`
}

// judge plays a case. A kubelet that refuses to start, or that breaks, is an error.
func judge(ctx context.Context, of *aCase) (answers []*answer, err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("panic: %v", broken)
		}
	}()
	k, err := newKubelet(ctx, &of.Machine)
	if err != nil {
		return nil, err
	}
	defer k.stop(ctx)
	for number := range of.Steps {
		answer, err := k.step(ctx, &of.Steps[number])
		if err != nil {
			return answers, err
		}
		answers = append(answers, answer)
	}
	return answers, nil
}
