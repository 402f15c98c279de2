package main

import (
	"fmt"

	cadvisorapi "github.com/google/cadvisor/lib/model"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// aCase is a machine and what happens on it.
type aCase struct {
	Machine aMachine `json:"machine"`
	Steps   []aStep  `json:"steps"`
}

type aMachine struct {
	Zones         []aZone             `json:"zones"`
	ReservedCPUs  []int               `json:"reserved_cpus"`
	Devices       map[string][]device `json:"devices"`
	Policy        string              `json:"policy"`
	Scope         string              `json:"scope"`
	PolicyOptions map[string]string   `json:"policy_options"`
	CPUPolicy     string              `json:"cpu_policy"`
	CPUOptions    map[string]string   `json:"cpu_options"`
	MemoryPolicy  string              `json:"memory_policy"`
}

type aZone struct {
	ID             int         `json:"id"`
	Cores          []aCore     `json:"cores"`
	Memory         uint64      `json:"memory"`
	MemoryReserved uint64      `json:"memory_reserved"`
	HugePages      []hugePages `json:"huge_pages"`
	Distances      []uint64    `json:"distances"`
}

type aCore struct {
	Core    int   `json:"core"`
	Socket  int   `json:"socket"`
	Cache   int   `json:"cache"`
	Threads []int `json:"threads"`
}

type hugePages struct {
	SizeKiB  uint64 `json:"size_kib"`
	Pages    uint64 `json:"pages"`
	Reserved uint64 `json:"reserved"`
}

type device struct {
	ID      string `json:"id"`
	Zones   *[]int `json:"zones"`
	Healthy bool   `json:"healthy"`
}

// aStep is one of: a pod comes, a pod's init containers have ended, a pod goes, a plugin lists its
// devices anew.
type aStep struct {
	Add     *aPod               `json:"add,omitempty"`
	Started string              `json:"started,omitempty"`
	Remove  string              `json:"remove,omitempty"`
	Devices map[string][]device `json:"devices,omitempty"`
}

type aPod struct {
	Name       string       `json:"name"`
	Guaranteed bool         `json:"guaranteed"`
	PodLevel   bool         `json:"pod_level"`
	Containers []aContainer `json:"containers"`
}

type aContainer struct {
	Role     string           `json:"role"`
	CPUMilli int64            `json:"cpu_milli"`
	Memory   map[string]int64 `json:"memory"`
	Devices  map[string]int64 `json:"devices"`
}

// topology is what cAdvisor would say of the machine.
func (m *aMachine) topology() *cadvisorapi.MachineInfo {
	info := &cadvisorapi.MachineInfo{}
	sockets := map[int]bool{}
	for _, zone := range m.Zones {
		node := cadvisorapi.Node{Id: zone.ID, Memory: zone.Memory, Distances: zone.Distances}
		for _, pages := range zone.HugePages {
			node.HugePages = append(node.HugePages,
				cadvisorapi.HugePagesInfo{PageSize: pages.SizeKiB, NumPages: pages.Pages})
		}
		for _, core := range zone.Cores {
			sockets[core.Socket] = true
			info.NumCores += len(core.Threads)
			info.NumPhysicalCores++
			node.Cores = append(node.Cores, cadvisorapi.Core{
				Id: core.Core, SocketID: core.Socket, Threads: core.Threads,
				UncoreCaches: []cadvisorapi.Cache{{Id: core.Cache}},
			})
		}
		info.Topology = append(info.Topology, node)
	}
	info.NumSockets = len(sockets)
	return info
}

// reservedMemory is what the memory manager keeps for the system.
func (m *aMachine) reservedMemory() map[int]map[v1.ResourceName]uint64 {
	reserved := map[int]map[v1.ResourceName]uint64{}
	for _, zone := range m.Zones {
		of := map[v1.ResourceName]uint64{v1.ResourceMemory: zone.MemoryReserved}
		for _, pages := range zone.HugePages {
			of[hugePagesName(pages.SizeKiB)] = pages.Reserved
		}
		reserved[zone.ID] = of
	}
	return reserved
}

func hugePagesName(sizeKiB uint64) v1.ResourceName {
	size := resource.NewQuantity(int64(sizeKiB)*1024, resource.BinarySI)
	return v1.ResourceName(v1.ResourceHugePagesPrefix + size.String())
}

// object is the pod as the API server would have it.
func (p *aPod) object() *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: p.Name, Namespace: "default", UID: types.UID(p.Name),
	}}
	total := v1.ResourceList{}
	for number, asked := range p.Containers {
		container := v1.Container{Name: containerName(number)}
		requests, limits := v1.ResourceList{}, v1.ResourceList{}
		if asked.CPUMilli > 0 {
			requests[v1.ResourceCPU] = *resource.NewMilliQuantity(asked.CPUMilli, resource.DecimalSI)
		}
		for name, amount := range asked.Memory {
			requests[v1.ResourceName(name)] = *resource.NewQuantity(amount, resource.BinarySI)
		}
		if p.Guaranteed {
			for name, amount := range requests {
				limits[name] = amount
			}
		}
		for name, amount := range asked.Devices {
			quantity := *resource.NewQuantity(amount, resource.DecimalSI)
			requests[v1.ResourceName(name)], limits[v1.ResourceName(name)] = quantity, quantity
		}
		container.Resources = v1.ResourceRequirements{Requests: requests, Limits: limits}
		always := v1.ContainerRestartPolicyAlways
		switch asked.Role {
		case "init":
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, container)
		case "sidecar":
			container.RestartPolicy = &always
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, container)
		default:
			pod.Spec.Containers = append(pod.Spec.Containers, container)
		}
		for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
			sum := total[name]
			sum.Add(requests[name])
			total[name] = sum
		}
	}
	if p.PodLevel {
		pod.Spec.Resources = &v1.ResourceRequirements{Requests: total, Limits: total}
	}
	return pod
}

func containerName(number int) string {
	return fmt.Sprintf("c%d", number)
}

// containers lists all containers in the order in which the kubelet admits them.
func containers(pod *v1.Pod) []v1.Container {
	all := append([]v1.Container{}, pod.Spec.InitContainers...)
	return append(all, pod.Spec.Containers...)
}
