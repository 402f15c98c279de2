package main

import (
	"cmp"
	"context"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
	"k8s.io/kubernetes/pkg/scheduler/util"
)

type preemptionVerdict struct {
	Node       string                        `json:"node"`
	Candidates map[string]*preemptionVictims `json:"candidates"`
}

type preemptionVictims struct {
	Victims       []string `json:"victims"`
	PDBViolations int64    `json:"pdbViolations"`
}

// preempt asks the real evaluator what evicting would achieve, on all nodes
// instead of a random share of them, and evicts nothing.
func (r *rig) preempt(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, statuses *framework.NodeToStatus) *preemptionVerdict {
	plugin := r.preemptionPlugin()
	if plugin == nil {
		return nil
	}
	if ok, _ := plugin.PodEligibleToPreemptOthers(ctx, pod, statuses.Get(pod.Status.NominatedNodeName)); !ok {
		return nil
	}
	nodes, err := statuses.NodesForStatusCode(r.cluster.snapshot.NodeInfos(), fwk.Unschedulable)
	if err != nil || len(nodes) == 0 {
		return nil
	}
	pdbs, err := plugin.Evaluator.PdbLister.List(labels.Everything())
	if err != nil {
		return nil
	}
	// The dry run says per node why it failed; only the candidates matter here.
	candidates, _, _ := plugin.Evaluator.DryRunPreemption(ctx, state, pod, nodes, pdbs, 0, int32(len(nodes)))
	if len(candidates) == 0 {
		return nil
	}

	best := plugin.Evaluator.SelectCandidate(ctx, candidates)
	v := &preemptionVerdict{Node: best.Name(), Candidates: map[string]*preemptionVictims{}}
	for _, candidate := range candidates {
		victims := &preemptionVictims{PDBViolations: candidate.Victims().NumPDBViolations}
		for _, victim := range candidate.Victims().Pods {
			victims.Victims = append(victims.Victims, victim.Namespace+"/"+victim.Name)
		}
		slices.Sort(victims.Victims)
		v.Candidates[candidate.Name()] = victims
		if candidate.Name() < v.Node && equallyGood(candidate, best) {
			// The evaluator breaks ties by the random order of a map. Taking the
			// first name keeps the answer to a case the same in every run.
			v.Node = candidate.Name()
		}
	}
	return v
}

// equallyGood reports whether the evaluator has no reason to prefer one candidate.
func equallyGood(a, b preemption.Candidate) bool {
	return slices.Equal(merits(a.Victims()), merits(b.Victims()))
}

// merits lists what the evaluator compares candidates by.
func merits(v *extenderv1.Victims) []int64 {
	highest := slices.MaxFunc(v.Pods, func(a, b *corev1.Pod) int {
		return cmp.Compare(corev1helpers.PodPriority(a), corev1helpers.PodPriority(b))
	})
	var sum int64
	for _, pod := range v.Pods {
		sum += int64(corev1helpers.PodPriority(pod)) + math.MaxInt32 + 1
	}
	var started int64
	if t := util.GetEarliestPodStartTime(v); t != nil {
		started = t.UnixNano()
	}
	return []int64{v.NumPDBViolations, int64(corev1helpers.PodPriority(highest)), sum, int64(len(v.Pods)), started}
}

// preemptionPlugin is nil when the profile does not preempt.
func (r *rig) preemptionPlugin() *defaultpreemption.DefaultPreemption {
	for _, configured := range r.order.PostFilter.Enabled {
		if configured.Name == names.DefaultPreemption {
			plugin, _ := r.plugins[configured.Name].(*defaultpreemption.DefaultPreemption)
			return plugin
		}
	}
	return nil
}
