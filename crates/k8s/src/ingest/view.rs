//! The fields of nodes and pods that scheduling reads. Unknown fields are skipped; a missing or
//! null field reads as empty, as it does for the API server.

use std::collections::BTreeMap;

use serde::de::{Deserialize, Deserializer, IgnoredAny, Visitor};

use super::annotations::Annotations;
use super::device::Picked;
use super::hardware::NodeAnnotations;
use super::node_resource_topology::Text;
use super::quantity::{Amount, List};
use super::slim::{Slim, is_field};
use super::timestamp::Timestamp;
use super::words::{Args, Env, Words};

/// Null reads as the default.
fn lenient<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(d: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(d)?.unwrap_or_default())
}

macro_rules! views {
    ($($(#[$doc:meta])* $name:ident {
        $($(#[serde(rename = $rename:literal)])? $field:ident: $type:ty,)*
    })*) => {$(
        $(#[$doc])*
        #[derive(Default, serde::Deserialize)]
        #[serde(rename_all = "camelCase", default, remote = "Self", expecting = "an object")]
        pub(super) struct $name {
            $(
                #[serde(deserialize_with = "lenient" $(, rename = $rename)?)]
                pub(super) $field: $type,
            )*
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::deserialize(ObjectOnly(deserializer))
            }
        }

        impl Slim for $name {
            fn slim(value: &mut serde_json::Value) {
                let serde_json::Value::Object(fields) = value else { return };
                fields.retain(|key, value| {
                    $(
                        if is_field(key, stringify!($field), &[$($rename)?]) {
                            <$type as Slim>::slim(value);
                            return true;
                        }
                    )*
                    false
                });
            }
        }
    )*};
}

/// Reads structs from objects alone. Derived code would take a list for a struct as well, its
/// items for fields in the order of their declaration.
struct ObjectOnly<D>(D);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for ObjectOnly<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(visitor)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier
        ignored_any
    }
}

views! {
    PodMeta {
        name: String,
        namespace: String,
        uid: String,
        resource_version: String,
        generation: i64,
        creation_timestamp: Option<Timestamp>,
        deletion_timestamp: Option<String>,
        labels: BTreeMap<String, String>,
        annotations: Annotations,
        owner_references: Vec<OwnerView>,
    }
    OwnerView {
        api_version: String,
        kind: String,
        name: String,
        uid: String,
        controller: bool,
    }
    ServiceView { metadata: GroupingMeta, spec: ServiceSpec, }
    ServiceSpec { selector: BTreeMap<String, String>, }
    ControllerView { metadata: GroupingMeta, spec: ControllerSpec, }
    ControllerSpec { selector: Option<LabelSelectorView>, }
    GroupingMeta { name: String, namespace: String, resource_version: String, }
    NamespaceView { metadata: NamespaceMeta, }
    NamespaceMeta { name: String, resource_version: String, labels: BTreeMap<String, String>, }
    PodGroupView { metadata: PodGroupMeta, spec: PodGroupSpec, status: PodGroupStatus, }
    PodGroupMeta {
        name: String,
        namespace: String,
        uid: String,
        resource_version: String,
        generation: i64,
    }
    PodGroupSpec {
        scheduling_policy: PolicyView,
        scheduling_constraints: ConstraintsView,
        disruption_mode: DisruptionMode,
        priority: Option<i32>,
        parent_composite_pod_group_name: String,
        pod_groups: Vec<WorkloadGroup>,
        min_member: Option<i32>,
        min_resources: List,
        schedule_timeout_seconds: Option<i32>,
    }
    PolicyView { gang: Option<GangView>, }
    GangView { min_count: i32, min_group_count: i32, }
    ConstraintsView { topology: Vec<TopologyView>, }
    TopologyView { key: String, }
    WorkloadGroup { name: String, policy: PolicyView, }
    PodGroupStatus { conditions: Vec<Condition>, }
    BudgetView { metadata: BudgetMeta, spec: BudgetSpec, status: BudgetStatus, }
    BudgetMeta { name: String, namespace: String, resource_version: String, }
    BudgetSpec { selector: Option<LabelSelectorView>, }
    BudgetStatus { disruptions_allowed: i32, disrupted_pods: BTreeMap<String, IgnoredAny>, }
    ClusterQueueView { metadata: ClusterQueueMeta, spec: ClusterQueueSpec, }
    ClusterQueueMeta { name: String, resource_version: String, }
    ClusterQueueSpec { namespace_selector: Option<LabelSelectorView>, }
    LocalQueueView { metadata: LocalQueueMeta, spec: LocalQueueSpec, }
    LocalQueueMeta { name: String, namespace: String, resource_version: String, }
    LocalQueueSpec { cluster_queue: String, }
    JobView { metadata: JobMeta, spec: JobSpec, status: JobStatus, }
    JobMeta { uid: String, resource_version: String, }
    JobSpec { parallelism: Option<i32>, completions: Option<i32>, }
    JobStatus { conditions: Vec<Condition>, succeeded: Option<i32>, }
    NodeResourceTopologyView {
        metadata: TopologyMeta,
        topology_policies: Vec<String>,
        zones: Vec<ZoneView>,
        attributes: Vec<TopologyAttributeView>,
    }
    TopologyMeta { name: String, resource_version: String, annotations: TopologyAnnotations, }
    TopologyAnnotations {
        #[serde(rename = "topology.node.k8s.io/fingerprint")]
        fingerprint: String,
    }
    ZoneView {
        name: String,
        r#type: String,
        costs: Vec<CostView>,
        attributes: Vec<TopologyAttributeView>,
        resources: Vec<ResourceView>,
    }
    CostView { name: String, value: Text, }
    TopologyAttributeView { name: String, value: String, }
    ResourceView { name: String, capacity: Text, allocatable: Text, available: Text, }
    NodeMeta {
        name: String,
        resource_version: String,
        labels: BTreeMap<String, String>,
        annotations: NodeAnnotations,
    }

    NodeView { metadata: NodeMeta, spec: NodeSpec, status: NodeStatus, }
    NodeSpec { unschedulable: bool, taints: Vec<TaintView>, }
    TaintView { key: String, value: String, effect: String, }
    NodeStatus { allocatable: List, images: Vec<ImageView>, declared_features: Vec<String>, }
    ImageView { names: Vec<String>, size_bytes: i64, }

    PodView { metadata: PodMeta, spec: PodSpecView, status: PodStatus, }
    PodSpecView {
        scheduler_name: String,
        node_name: String,
        priority: Option<i32>,
        priority_class_name: String,
        preemption_policy: String,
        containers: Vec<Container>,
        init_containers: Vec<Container>,
        ephemeral_containers: Vec<Container>,
        resources: Option<Resources>,
        overhead: List,
        node_selector: BTreeMap<String, String>,
        affinity: Affinity,
        tolerations: Vec<TolerationView>,
        topology_spread_constraints: Vec<SpreadView>,
        volumes: Vec<Volume>,
        resource_claims: Vec<IgnoredAny>,
        scheduling_gates: Vec<Gate>,
        scheduling_group: SchedulingGroup,
        workload_ref: WorkloadRef,
        host_network: bool,
        host_users: Option<bool>,
    }
    SchedulingGroup { pod_group_name: String, }
    WorkloadRef { name: String, pod_group: String, pod_group_replica_key: String, }
    Container {
        name: String,
        image: String,
        command: Args,
        args: Args,
        env: Env,
        resources: Resources,
        restart_policy: Option<String>,
        restart_policy_rules: Vec<RestartRule>,
        ports: Vec<Port>,
        volume_mounts: Vec<Mount>,
    }
    Resources { requests: Option<List>, limits: Option<List>, }
    EnvView { value: Words, }
    RestartRule { action: String, }
    Port {
        host_port: i32,
        #[serde(rename = "hostIP")]
        host_ip: String,
        protocol: String,
    }
    Mount { bind_mount_options: Vec<String>, }
    TolerationView { key: String, operator: String, value: String, effect: String, }
    Gate { name: String, }
    Volume {
        image: Option<ImageSource>,
        name: String,
        persistent_volume_claim: Option<ClaimSource>,
        ephemeral: Option<IgnoredAny>,
        gce_persistent_disk: Option<GceDisk>,
        aws_elastic_block_store: Option<ById>,
        azure_disk: Option<AzureDisk>,
        cinder: Option<ById>,
        iscsi: Option<Iscsi>,
        portworx_volume: Option<ById>,
        rbd: Option<Rbd>,
    }
    ImageSource { reference: String, }
    ClaimSource { claim_name: String, }
    GceDisk { pd_name: String, read_only: bool, }
    ById {
        #[serde(rename = "volumeID")]
        volume_id: String,
    }
    AzureDisk {
        #[serde(rename = "diskURI")]
        disk_uri: String,
        kind: Option<String>,
    }
    Iscsi { iqn: String, read_only: bool, }
    Rbd { monitors: Vec<String>, pool: String, image: String, read_only: bool, }

    PersistentVolumeView {
        metadata: StorageMeta,
        spec: PersistentVolumeSpec,
        status: StorageStatus,
    }
    /// Of volumes and of claims.
    StorageMeta {
        name: String,
        namespace: String,
        uid: String,
        resource_version: String,
        deletion_timestamp: Option<String>,
        labels: BTreeMap<String, String>,
        annotations: ClaimAnnotations,
        owner_references: Vec<OwnerView>,
    }
    ClaimAnnotations {
        #[serde(rename = "volume.beta.kubernetes.io/storage-class")]
        class: Option<String>,
        #[serde(rename = "pv.kubernetes.io/bind-completed")]
        bind_completed: Option<IgnoredAny>,
        #[serde(rename = "volume.kubernetes.io/selected-node")]
        selected_node: Option<String>,
    }
    PersistentVolumeSpec {
        capacity: StorageAmounts,
        access_modes: Vec<String>,
        volume_mode: String,
        storage_class_name: String,
        volume_attributes_class_name: String,
        claim_ref: Option<ClaimRefView>,
        node_affinity: VolumeAffinity,
        csi: Option<CsiSource>,
        gce_persistent_disk: Option<GceDisk>,
        aws_elastic_block_store: Option<ById>,
        azure_disk: Option<AzureDisk>,
        cinder: Option<ById>,
        portworx_volume: Option<ById>,
    }
    StorageStatus { phase: String, }
    StorageAmounts { storage: Option<Amount>, }
    ClaimRefView { namespace: String, name: String, uid: String, }
    VolumeAffinity { required: Option<NodeSelector>, }
    CsiSource { driver: String, volume_handle: String, }
    ClaimView { metadata: StorageMeta, spec: ClaimSpec, status: StorageStatus, }
    ClaimSpec {
        access_modes: Vec<String>,
        selector: Option<LabelSelectorView>,
        resources: ClaimResources,
        volume_name: String,
        storage_class_name: String,
        volume_mode: String,
        volume_attributes_class_name: String,
    }
    ClaimResources { requests: StorageAmounts, }
    StorageClassView {
        metadata: PlainMeta,
        provisioner: String,
        volume_binding_mode: Option<String>,
        allowed_topologies: Vec<TopologyTerm>,
    }
    PlainMeta { name: String, namespace: String, resource_version: String, }
    TopologyTerm { match_label_expressions: Vec<TopologyExpression>, }
    TopologyExpression { key: String, values: Vec<String>, }
    CsiNodeView { metadata: CsiNodeMeta, spec: CsiNodeSpec, }
    CsiNodeMeta { name: String, resource_version: String, annotations: CsiNodeAnnotations, }
    CsiNodeAnnotations {
        #[serde(rename = "storage.alpha.kubernetes.io/migrated-plugins")]
        migrated_plugins: String,
    }
    CsiNodeSpec { drivers: Vec<CsiNodeDriver>, }
    CsiNodeDriver { name: String, allocatable: CsiAllocatable, }
    CsiAllocatable { count: Option<i32>, }
    CsiDriverView { metadata: PlainMeta, spec: CsiDriverSpec, }
    CsiDriverSpec { storage_capacity: bool, prevent_pod_scheduling_if_missing: bool, }
    CapacityView {
        metadata: PlainMeta,
        node_topology: Option<LabelSelectorView>,
        storage_class_name: String,
        capacity: Option<Amount>,
        maximum_volume_size: Option<Amount>,
    }
    AttachmentView { metadata: PlainMeta, spec: AttachmentSpec, }
    AttachmentSpec { attacher: String, node_name: String, source: AttachmentSource, }
    AttachmentSource { persistent_volume_name: Option<String>, }

    ResourceSliceView { metadata: PlainMeta, spec: ResourceSliceSpec, }
    ResourceSliceSpec {
        driver: String,
        pool: PoolView,
        node_name: String,
        devices: Vec<DeviceView>,
    }
    PoolView { name: String, generation: i64, resource_slice_count: i64, }
    DeviceView {
        name: String,
        attributes: Picked<AttributeView>,
        capacity: Picked<DeviceCapacityView>,
        taints: Vec<DeviceTaintView>,
    }
    AttributeView { string: Option<String>, int: Option<i64>, ints: Vec<i64>, }
    DeviceCapacityView { value: Option<Amount>, }
    DeviceTaintView { effect: String, }
    ResourceClaimView { metadata: PlainMeta, status: ResourceClaimStatus, }
    ResourceClaimStatus { allocation: AllocationView, }
    AllocationView { devices: AllocatedDevices, }
    AllocatedDevices { results: Vec<AllocatedDevice>, }
    AllocatedDevice { driver: String, pool: String, device: String, admin_access: bool, }

    Affinity {
        node_affinity: NodeAffinity,
        pod_affinity: PodAffinity,
        pod_anti_affinity: PodAffinity,
    }
    PodAffinity {
        required_during_scheduling_ignored_during_execution: Vec<PodTermView>,
        preferred_during_scheduling_ignored_during_execution: Vec<WeightedPodTerm>,
    }
    WeightedPodTerm { weight: i32, pod_affinity_term: PodTermView, }
    PodTermView {
        label_selector: Option<LabelSelectorView>,
        namespaces: Vec<String>,
        topology_key: String,
        namespace_selector: Option<LabelSelectorView>,
    }
    SpreadView {
        max_skew: i32,
        topology_key: String,
        when_unsatisfiable: String,
        label_selector: Option<LabelSelectorView>,
        match_label_keys: Vec<String>,
        min_domains: Option<i32>,
        node_affinity_policy: Option<String>,
        node_taints_policy: Option<String>,
    }
    LabelSelectorView {
        match_labels: BTreeMap<String, String>,
        match_expressions: Vec<Expression>,
    }
    NodeAffinity {
        required_during_scheduling_ignored_during_execution: Option<NodeSelector>,
        preferred_during_scheduling_ignored_during_execution: Vec<PreferredTerm>,
    }
    NodeSelector { node_selector_terms: Vec<SelectorTerm>, }
    PreferredTerm { weight: Weight, preference: SelectorTerm, }
    SelectorTerm { match_expressions: Vec<Expression>, match_fields: Vec<Expression>, }
    Expression { key: String, operator: String, values: Vec<String>, }

    PodStatus {
        phase: String,
        qos_class: String,
        nominated_node_name: String,
        start_time: Option<Timestamp>,
        conditions: Vec<Condition>,
        container_statuses: Vec<ContainerStatus>,
        init_container_statuses: Vec<ContainerStatus>,
        resources: Option<Resources>,
        allocated_resources: Option<List>,
    }
    Condition {
        r#type: String,
        status: String,
        reason: String,
        message: String,
        last_transition_time: Option<Timestamp>,
    }
    ContainerStatus {
        name: String,
        allocated_resources: Option<List>,
        resources: Option<Resources>,
    }
}

/// Whether the pods of a group are only evicted together: `{"all": {}}`, or in Kubernetes 1.36
/// `PodGroup`.
#[derive(Clone, Copy, Default, serde::Deserialize)]
#[serde(from = "serde_json::Value")]
pub(super) struct DisruptionMode(pub(super) bool);

impl From<serde_json::Value> for DisruptionMode {
    fn from(mode: serde_json::Value) -> Self {
        Self(mode == "PodGroup" || mode.get("all").is_some_and(|all| !all.is_null()))
    }
}

/// The weight of a preference, which is never negative.
#[derive(Clone, Copy, Default, serde::Deserialize)]
#[serde(try_from = "i32")]
pub(super) struct Weight(pub(super) i32);

impl TryFrom<i32> for Weight {
    type Error = String;

    fn try_from(weight: i32) -> Result<Self, String> {
        if weight < 0 {
            return Err(format!("{weight} is negative (expected 0 or more)"));
        }
        Ok(Self(weight))
    }
}

impl Container {
    /// Whether it is an init container that keeps running beside the others.
    pub(super) fn is_restartable(&self) -> bool {
        self.restart_policy.as_deref() == Some("Always")
    }
}
