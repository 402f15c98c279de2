package main

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

const notInstalled = " CSI driver is not installed on the node"

// firstDriver replaces a status that names a CSI driver which the node lacks. Of
// several, the plugin names one in the random order of a map. The plugin is asked
// about every volume of the pod alone, and the first driver by name is kept.
func (r *rig) firstDriver(ctx context.Context, pod *corev1.Pod, node fwk.NodeInfo, status *fwk.Status) *fwk.Status {
	plugin, ok := r.plugins[names.NodeVolumeLimits].(fwk.FilterPlugin)
	if !ok || status.Plugin() != names.NodeVolumeLimits || !strings.HasSuffix(status.Message(), notInstalled) {
		return status
	}
	found := []string{status.Message()}
	for _, volume := range pod.Spec.Volumes {
		alone := pod.DeepCopy()
		alone.Spec.Volumes = []corev1.Volume{volume}
		message := plugin.Filter(ctx, framework.NewCycleState(), alone, node).Message()
		if strings.HasSuffix(message, notInstalled) {
			found = append(found, message)
		}
	}
	return fwk.NewStatus(status.Code(), slices.Min(found)).WithPlugin(status.Plugin())
}
