package main

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
)

// claimRecorder passes everything on to the real manager and keeps a copy of the
// allocations that are signalled while a node is being reserved.
type claimRecorder struct {
	fwk.SharedDRAManager
	allocated []*resourcev1.ResourceClaim
}

func (m *claimRecorder) ResourceClaims() fwk.ResourceClaimTracker {
	return &recordingTracker{ResourceClaimTracker: m.SharedDRAManager.ResourceClaims(), recorder: m}
}

type recordingTracker struct {
	fwk.ResourceClaimTracker
	recorder *claimRecorder
}

func (t *recordingTracker) SignalClaimPendingAllocation(uid types.UID, claim *resourcev1.ResourceClaim) error {
	t.recorder.allocated = append(t.recorder.allocated, claim)
	return t.ResourceClaimTracker.SignalClaimPendingAllocation(uid, claim)
}

// allocate reserves the winner to see which devices the pod's claims would get,
// and gives them back. Of several winners it takes the first name.
func (r *rig) allocate(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, v *verdict) map[string][]string {
	if len(pod.Spec.ResourceClaims) == 0 {
		return nil
	}
	winner := ""
	for _, name := range slices.Sorted(maps.Keys(v.Nodes)) {
		if n := v.Nodes[name]; n.Feasible && (winner == "" || n.Total > v.Nodes[winner].Total) {
			winner = name
		}
	}
	r.claims.allocated = nil
	status := r.framework.RunReservePluginsReserve(ctx, state, pod, winner)
	r.framework.RunReservePluginsUnreserve(ctx, state, pod, winner)
	if !status.IsSuccess() {
		return nil
	}
	allocation := map[string][]string{}
	for _, claim := range r.claims.allocated {
		devices := []string{}
		if claim.Status.Allocation != nil {
			for _, result := range claim.Status.Allocation.Devices.Results {
				devices = append(devices, result.Driver+"/"+result.Pool+"/"+result.Device)
			}
		}
		allocation[claim.Name] = devices
	}
	return allocation
}
