package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	cpustate "k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager"
	memorystate "k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
)

// The kubelet's own managers keep their state in files and watch containers. What decides is their
// policy, which these put before the topology manager with a state in memory.

type cpuProvider struct {
	policy cpumanager.Policy
	state  cpustate.State
}

var _ topologymanager.HintProvider = &cpuProvider{}

func (p *cpuProvider) GetTopologyHints(logger klog.Logger, pod *v1.Pod, container *v1.Container, operation lifecycle.Operation) map[string][]topologymanager.TopologyHint {
	return p.policy.GetTopologyHints(logger, p.state, pod, container, operation)
}

func (p *cpuProvider) GetPodTopologyHints(logger klog.Logger, pod *v1.Pod, operation lifecycle.Operation) map[string][]topologymanager.TopologyHint {
	return p.policy.GetPodTopologyHints(logger, p.state, pod, operation)
}

func (p *cpuProvider) AllocatePod(logger klog.Logger, pod *v1.Pod, operation lifecycle.Operation) error {
	return p.policy.AllocatePod(logger, p.state, pod, operation)
}

func (p *cpuProvider) Allocate(ctx context.Context, pod *v1.Pod, container *v1.Container, operation lifecycle.Operation) error {
	return p.policy.Allocate(klog.FromContext(ctx), p.state, pod, container, operation)
}

type memoryProvider struct {
	policy memorymanager.Policy
	state  memorystate.State
}

var _ topologymanager.HintProvider = &memoryProvider{}

func (p *memoryProvider) GetTopologyHints(logger klog.Logger, pod *v1.Pod, container *v1.Container, operation lifecycle.Operation) map[string][]topologymanager.TopologyHint {
	return p.policy.GetTopologyHints(logger, p.state, pod, container, operation)
}

func (p *memoryProvider) GetPodTopologyHints(logger klog.Logger, pod *v1.Pod, operation lifecycle.Operation) map[string][]topologymanager.TopologyHint {
	return p.policy.GetPodTopologyHints(logger, p.state, pod, operation)
}

func (p *memoryProvider) AllocatePod(logger klog.Logger, pod *v1.Pod, operation lifecycle.Operation) error {
	return p.policy.AllocatePod(logger, p.state, pod, operation)
}

func (p *memoryProvider) Allocate(ctx context.Context, pod *v1.Pod, container *v1.Container, operation lifecycle.Operation) error {
	return p.policy.Allocate(ctx, p.state, pod, container, operation)
}
