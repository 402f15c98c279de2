package main

import (
	"context"
	"errors"
	_ "unsafe" // for go:linkname

	cadvisorapi "github.com/google/cadvisor/lib/model"
	"google.golang.org/grpc"
	"k8s.io/klog/v2"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
)

// newDeviceManager makes the kubelet's device manager with its socket and its checkpoint where the
// caller wants them. The exported NewManagerImpl takes the kubelet's own folder.
//
//go:linkname newDeviceManager k8s.io/kubernetes/pkg/kubelet/cm/devicemanager.newManagerImpl
func newDeviceManager(logger klog.Logger, socketPath string, topology []cadvisorapi.Node, store topologymanager.Store) (*devicemanager.ManagerImpl, error)

// plugin is a device plugin without a socket: the manager calls it as it would call a client.
type plugin struct {
	resource string
}

func (p *plugin) API() pluginapi.DevicePluginClient { return p }
func (p *plugin) Resource() string                  { return p.resource }
func (p *plugin) SocketPath() string                { return "/" + p.resource }

func (p *plugin) GetDevicePluginOptions(context.Context, *pluginapi.Empty, ...grpc.CallOption) (*pluginapi.DevicePluginOptions, error) {
	return &pluginapi.DevicePluginOptions{}, nil
}

func (p *plugin) Allocate(_ context.Context, request *pluginapi.AllocateRequest, _ ...grpc.CallOption) (*pluginapi.AllocateResponse, error) {
	response := &pluginapi.AllocateResponse{}
	for range request.ContainerRequests {
		response.ContainerResponses = append(response.ContainerResponses, &pluginapi.ContainerAllocateResponse{})
	}
	return response, nil
}

var errNotAsked = errors.New("the options of this plugin do not ask for it")

func (p *plugin) ListAndWatch(context.Context, *pluginapi.Empty, ...grpc.CallOption) (grpc.ServerStreamingClient[pluginapi.ListAndWatchResponse], error) {
	return nil, errNotAsked
}

func (p *plugin) GetPreferredAllocation(context.Context, *pluginapi.PreferredAllocationRequest, ...grpc.CallOption) (*pluginapi.PreferredAllocationResponse, error) {
	return nil, errNotAsked
}

func (p *plugin) PreStartContainer(context.Context, *pluginapi.PreStartContainerRequest, ...grpc.CallOption) (*pluginapi.PreStartContainerResponse, error) {
	return nil, errNotAsked
}

// listed is what a plugin would send of its devices.
func listed(devices []device) *pluginapi.ListAndWatchResponse {
	response := &pluginapi.ListAndWatchResponse{}
	for _, of := range devices {
		listed := &pluginapi.Device{ID: of.ID, Health: pluginapi.Unhealthy}
		if of.Healthy {
			listed.Health = pluginapi.Healthy
		}
		if of.Zones != nil {
			listed.Topology = &pluginapi.TopologyInfo{}
			for _, zone := range *of.Zones {
				listed.Topology.Nodes = append(listed.Topology.Nodes, &pluginapi.NUMANode{ID: int64(zone)})
			}
		}
		response.Devices = append(response.Devices, listed)
	}
	return response
}
