package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// acceptedKinds is every kind a case may contain, with the Go type of the one
// version that is read. A kind that is missing here is an error in the case.
var acceptedKinds = map[schema.GroupVersionKind]runtime.Object{
	corev1.SchemeGroupVersion.WithKind("Node"):                      &corev1.Node{},
	corev1.SchemeGroupVersion.WithKind("Pod"):                       &corev1.Pod{},
	corev1.SchemeGroupVersion.WithKind("Namespace"):                 &corev1.Namespace{},
	corev1.SchemeGroupVersion.WithKind("Service"):                   &corev1.Service{},
	corev1.SchemeGroupVersion.WithKind("ReplicationController"):     &corev1.ReplicationController{},
	corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"):     &corev1.PersistentVolumeClaim{},
	corev1.SchemeGroupVersion.WithKind("PersistentVolume"):          &corev1.PersistentVolume{},
	appsv1.SchemeGroupVersion.WithKind("ReplicaSet"):                &appsv1.ReplicaSet{},
	appsv1.SchemeGroupVersion.WithKind("StatefulSet"):               &appsv1.StatefulSet{},
	storagev1.SchemeGroupVersion.WithKind("StorageClass"):           &storagev1.StorageClass{},
	storagev1.SchemeGroupVersion.WithKind("CSINode"):                &storagev1.CSINode{},
	storagev1.SchemeGroupVersion.WithKind("CSIDriver"):              &storagev1.CSIDriver{},
	storagev1.SchemeGroupVersion.WithKind("CSIStorageCapacity"):     &storagev1.CSIStorageCapacity{},
	storagev1.SchemeGroupVersion.WithKind("VolumeAttachment"):       &storagev1.VolumeAttachment{},
	policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"):     &policyv1.PodDisruptionBudget{},
	schedulingv1.SchemeGroupVersion.WithKind("PriorityClass"):       &schedulingv1.PriorityClass{},
	resourcev1.SchemeGroupVersion.WithKind("ResourceSlice"):         &resourcev1.ResourceSlice{},
	resourcev1.SchemeGroupVersion.WithKind("ResourceClaim"):         &resourcev1.ResourceClaim{},
	resourcev1.SchemeGroupVersion.WithKind("ResourceClaimTemplate"): &resourcev1.ResourceClaimTemplate{},
	resourcev1.SchemeGroupVersion.WithKind("DeviceClass"):           &resourcev1.DeviceClass{},
	resourcev1.SchemeGroupVersion.WithKind("DeviceTaintRule"):       &resourcev1.DeviceTaintRule{},
}

// ownGroupSuffix marks KubeNexus' own kinds, which kube-scheduler does not know.
const ownGroupSuffix = "kubenexus.io"

// decoder reads objects as they are: no defaulting, no conversion.
var decoder = jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory,
	clientscheme.Scheme, clientscheme.Scheme, jsonserializer.SerializerOptions{})

// decodeObject returns nil without an error for a kind that kube-scheduler would
// not see in a cluster.
func decodeObject(raw json.RawMessage) (runtime.Object, error) {
	gvk, err := jsonserializer.DefaultMetaFactory.Interpret(raw)
	if err != nil {
		return nil, err
	}
	if gvk.Group == ownGroupSuffix || strings.HasSuffix(gvk.Group, "."+ownGroupSuffix) {
		return nil, nil
	}
	if _, ok := acceptedKinds[*gvk]; !ok {
		return nil, fmt.Errorf("unknown kind %q in apiVersion %q", gvk.Kind, gvk.GroupVersion())
	}
	obj, _, err := decoder.Decode(raw, nil, nil)
	if pod, ok := obj.(*corev1.Pod); ok && pod.UID == "" {
		// The scheduler tells pods apart by UID and cannot evict one without it.
		// An API server would have set one.
		pod.UID = types.UID(pod.Namespace + "/" + pod.Name)
	}
	return obj, err
}

// cluster holds everything the plugins can see: the node snapshot, the
// informers' stores and the nominated pods. It is filled anew for every case, in
// place, because the plugins keep the pointers they are given at construction.
type cluster struct {
	snapshot  *internalcache.Snapshot
	nominated nominator
	factory   informers.SharedInformerFactory
	informers map[reflect.Type]*directInformer
}

func newCluster(client kubernetes.Interface) *cluster {
	c := &cluster{
		snapshot:  internalcache.NewEmptySnapshot(),
		nominated: nominator{},
		factory:   informers.NewSharedInformerFactory(client, 0),
		informers: map[reflect.Type]*directInformer{},
	}
	// Registering an informer for a type first makes the factory hand out ours
	// to whoever asks later.
	for _, obj := range acceptedKinds {
		informer := newDirectInformer(obj)
		c.informers[reflect.TypeOf(obj)] = informer
		c.factory.InformerFor(obj, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer {
			return informer
		})
	}
	return c
}

// load replaces the whole content of the cluster.
func (c *cluster) load(objects []runtime.Object) error {
	byType := map[reflect.Type][]runtime.Object{}
	nodeNames := map[string]bool{}
	var nodes []*corev1.Node
	for _, obj := range objects {
		byType[reflect.TypeOf(obj)] = append(byType[reflect.TypeOf(obj)], obj)
		if node, ok := obj.(*corev1.Node); ok {
			nodes = append(nodes, node)
			nodeNames[node.Name] = true
		}
	}

	var bound []*corev1.Pod
	clear(c.nominated)
	for _, obj := range objects {
		pod, ok := obj.(*corev1.Pod)
		if !ok || finished(pod) {
			continue
		}
		switch {
		case nodeNames[pod.Spec.NodeName]:
			bound = append(bound, pod)
		case pod.Spec.NodeName == "" && pod.Status.NominatedNodeName != "":
			// The scheduler goes on when a selector of the pod makes no sense.
			info, _ := framework.NewPodInfo(pod)
			name := pod.Status.NominatedNodeName
			c.nominated[name] = append(c.nominated[name], info)
		}
	}

	*c.snapshot = *internalcache.NewSnapshot(bound, nodes)
	for typ, informer := range c.informers {
		if err := informer.replace(byType[typ]); err != nil {
			return err
		}
	}
	return nil
}

// finished pods hold no resources; kube-scheduler's pod informer leaves them out.
func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// nominator knows the pods that are nominated to a node, by node name.
type nominator map[string][]fwk.PodInfo

func (n nominator) NominatedPodsForNode(nodeName string) []fwk.PodInfo { return n[nodeName] }

// A verdict never nominates, so the rest of the interface does nothing.
func (n nominator) AddNominatedPod(klog.Logger, fwk.PodInfo, *fwk.NominatingInfo) {}
func (n nominator) DeleteNominatedPodIfExists(*corev1.Pod)                        {}
func (n nominator) UpdateNominatedPod(klog.Logger, *corev1.Pod, fwk.PodInfo)      {}

// directInformer is an informer that is filled by hand and calls its handlers on
// the spot. Real informers learn of objects through list, watch and background
// workers: waiting for those takes longer than a whole case does.
type directInformer struct {
	cache.SharedIndexInformer
	handlers []cache.ResourceEventHandler
}

// GetIndexer hands out a store that lists in order, to whoever reads.
func (i *directInformer) GetIndexer() cache.Indexer {
	return sortedIndexer{i.SharedIndexInformer.GetIndexer()}
}

func (i *directInformer) GetStore() cache.Store { return i.GetIndexer() }

func newDirectInformer(obj runtime.Object) *directInformer {
	return &directInformer{SharedIndexInformer: cache.NewSharedIndexInformer(&cache.ListWatch{}, obj, 0,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})}
}

func (i *directInformer) replace(objects []runtime.Object) error {
	store := i.SharedIndexInformer.GetIndexer()
	for _, old := range store.List() {
		if err := store.Delete(old); err != nil {
			return err
		}
		for _, handler := range i.handlers {
			handler.OnDelete(old)
		}
	}
	for _, obj := range objects {
		if err := store.Add(obj); err != nil {
			return err
		}
		for _, handler := range i.handlers {
			handler.OnAdd(obj, false)
		}
	}
	return nil
}

func (i *directInformer) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	i.handlers = append(i.handlers, handler)
	return synced{}, nil
}

func (i *directInformer) AddEventHandlerWithResyncPeriod(handler cache.ResourceEventHandler, _ time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(handler)
}

func (i *directInformer) AddEventHandlerWithOptions(handler cache.ResourceEventHandler, _ cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(handler)
}

func (i *directInformer) HasSynced() bool                     { return true }
func (i *directInformer) HasSyncedChecker() cache.DoneChecker { return synced{} }

// synced says "up to date": the registration of a handler that is called on the spot.
type synced struct{}

var closed = func() chan struct{} {
	ch := make(chan struct{})
	close(ch)
	return ch
}()

func (synced) HasSynced() bool                     { return true }
func (synced) HasSyncedChecker() cache.DoneChecker { return synced{} }
func (synced) Name() string                        { return "filled by hand" }
func (synced) Done() <-chan struct{}               { return closed }
