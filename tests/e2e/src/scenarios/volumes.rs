//! Pods with volumes on bad days, and gangs of them: whole or not at all, volumes included.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use control_plane::Fault;
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use kube::Api;
use kube::api::ListParams;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::binds::bound_through;
use super::faults::held;
use super::gangs::gang;
use crate::check::{self, Expected};
use crate::objects::{Election, node, pod};
use crate::provisioner::{Provisioner, SELECTED_NODE};
use crate::suite::Run;
use crate::wait::until;
use crate::world::{Start, World, node_of};

/// How long nothing must happen.
const QUIET: Duration = Duration::from_secs(5);

const VOLUMES: &str = "/api/v1/persistentvolumes";
const CLASSES: &str = "/apis/storage.k8s.io/v1/storageclasses";

/// A gang of four with a claim each and a volume for three: no pod is bound and no volume is taken.
/// With a fourth volume all are. Then a gang whose volumes are made, one of them late: nobody is
/// bound before all have theirs.
pub(crate) fn gang_volumes(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        let provisioner = prepare(world).await?;
        world.run_scheduler(Start::plain(Election::Quick)).await?;

        world.plane.create(VOLUMES, (0..3).map(local_volume)).await?;
        create_gang(world, "static", ["local"; 4]).await?;
        world.wait_waiting("static-0", "Unschedulable", "").await?;
        stays(world, "static", 0, "though one has no volume").await?;
        let taken = volumes(world).await?.into_iter().filter(|it| owner(it).is_some()).count();
        ensure!(taken == 0, "{taken} volumes are taken for a gang that cannot start");
        world.plane.create(VOLUMES, [local_volume(3)].into_iter()).await?;
        world.wait_bound(4, 30).await?;

        create_gang(world, "made", ["fast", "fast", "fast", "late"]).await?;
        let last = wait_selected(world, "made-3").await?;
        stays(world, "made", 0, "before the last has its volume").await?;
        world.plane.create(VOLUMES, [volume_for(&last)].into_iter()).await?;
        world.wait_bound(8, 30).await?;
        provisioner.must_run()?;
        check::settled(world, &Expected::bound(8)).await?;
        clear(world).await
    })
}

/// Changes of claims and volumes that are refused because somebody was faster, though nobody was.
pub(crate) fn write_409(world: &mut World) -> Run<'_> {
    Box::pin(faulty(world, Fault::Answer(409)))
}

/// Changes of claims and volumes that fail with 500.
pub(crate) fn write_500(world: &mut World) -> Run<'_> {
    Box::pin(faulty(world, Fault::Answer(500)))
}

/// Connections that break after a claim or a volume was changed, before that is answered.
pub(crate) fn write_cut(world: &mut World) -> Run<'_> {
    Box::pin(faulty(world, Fault::Cut))
}

/// Changes of claims and volumes that nobody ever answers, though the server acted.
pub(crate) fn write_silence(world: &mut World) -> Run<'_> {
    Box::pin(faulty(world, Fault::Unanswered))
}

/// Every second change meets the fault. In the end every pod runs where its volume is, and no
/// claim has taken a second volume.
async fn faulty(world: &mut World, fault: Fault) -> Result<()> {
    let provisioner = prepare(world).await?;
    let proxy = world.proxy()?;
    world.run_scheduler(Start::through(&proxy, Election::Off)).await?;
    world.plane.create(VOLUMES, (0..4).map(local_volume)).await?;
    proxy.inject_into_volumes(fault.every(2, 3));
    let classes = ["local", "fast", "local", "fast", "local", "fast"];
    create_claims(world, "pod", &classes).await?;
    world
        .create_pods((0..6).map(|number| with_claim(pod(&format!("pod-{number}"), "1", "64Mi"))))
        .await?;
    world.wait_bound(6, 90).await?;
    let happened = proxy.record().iter().filter(|it| it.fault == Some(fault)).count();
    ensure!(happened == 3, "the fault happened {happened} times, not 3");
    let taken = volumes(world).await?.into_iter().filter(|it| owner(it).is_some()).count();
    ensure!(taken == 6, "{taken} volumes are taken for six claims");
    provisioner.must_run()?;
    check::settled(world, &Expected::bound(6)).await?;
    clear(world).await
}

/// The scheduler is killed while one pod waits for its volume and the bind of another, whose claim
/// is bound, is on its way: the next scheduler binds both where their volumes are.
pub(crate) fn killed(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        let provisioner = prepare(world).await?;
        let proxy = world.proxy()?;
        let first = world.run_scheduler(Start::through(&proxy, Election::Off)).await?;
        world.plane.create(VOLUMES, [local_volume(2)].into_iter()).await?;
        proxy.inject(Fault::Hold.after(0));
        create_claims(world, "pod", &["local", "late"]).await?;
        world
            .create_pods(
                (0..2).map(|number| with_claim(pod(&format!("pod-{number}"), "1", "64Mi"))),
            )
            .await?;
        held(&proxy).await?;
        let late = wait_selected(world, "pod-1").await?;
        world.kill(first)?;
        ensure!(bound_through(&proxy).is_empty(), "a bind that is held has arrived");
        // What was on its way never arrives.
        proxy.refuse(true);
        world.run_scheduler(Start::plain(Election::Off)).await?;
        let bound = world.wait_bound(1, 30).await?;
        ensure!(bound.iter().any(|pod| node_of(pod) == Some("node-2")), "it left its volume");
        world.plane.create(VOLUMES, [volume_for(&late)].into_iter()).await?;
        world.wait_bound(2, 30).await?;
        let second = world.pod("pod-1").await?;
        let selected = selected_node(&late);
        ensure!(node_of(&second) == selected, "it is on {:?}, not {selected:?}", node_of(&second));
        provisioner.must_run()?;
        check::settled(world, &Expected::bound(2)).await?;
        clear(world).await
    })
}

/// Makes nodes, classes and somebody who makes volumes.
async fn prepare(world: &World) -> Result<Provisioner> {
    let provisioner = Provisioner::start(world.client.clone());
    world.create_nodes(4, &node("node", "2", "16Gi", 110)).await?;
    let classes = [
        ("local", "kubernetes.io/no-provisioner"),
        ("fast", "ok.test.kubenexus.io"),
        ("late", "silent.test.kubenexus.io"),
    ];
    world.plane.create(CLASSES, classes.into_iter().map(class)).await?;
    Ok(provisioner)
}

/// A pod whose claim is bound to a volume on a node, once it is scheduled. Beside it a budget, a
/// service and a class of priorities.
pub(super) async fn keep_on(world: &World, node: &str) -> Result<()> {
    world
        .plane
        .create(CLASSES, [class(("local", "kubernetes.io/no-provisioner"))].into_iter())
        .await?;
    world.plane.create(VOLUMES, [volume("kept-volume", "local", node)].into_iter()).await?;
    create_claims(world, "kept", &["local"]).await?;
    world.create_pods([with_claim(pod("kept-0", "100m", "64Mi"))].into_iter()).await?;
    let namespace = &world.namespace;
    let selector = json!({"matchLabels": {"app": "test"}});
    let budget = json!({"metadata": {"name": "kept"},
        "spec": {"selector": selector, "minAvailable": "50%"}});
    let path = format!("/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets");
    world.plane.create(&path, [budget].into_iter()).await?;
    let service = json!({"metadata": {"name": "kept"},
        "spec": {"selector": {"app": "test"}, "ports": [{"port": 80}]}});
    let path = format!("/api/v1/namespaces/{namespace}/services");
    world.plane.create(&path, [service].into_iter()).await
}

/// Waits until a node is selected for a claim.
async fn wait_selected(world: &World, name: &str) -> Result<PersistentVolumeClaim> {
    until("a node to be selected for a claim", Duration::from_secs(30), || async {
        let claim = claims(world).get(name).await?;
        let is_selected = selected_node(&claim).is_some();
        Ok(is_selected.then_some(claim).ok_or("none is".to_owned()))
    })
    .await
}

/// Creates the claims of a gang, one of each class, and its pods.
async fn create_gang(world: &World, name: &str, classes: [&str; 4]) -> Result<()> {
    create_claims(world, name, &classes).await?;
    world.create_pods(gang(name, classes.len(), "1").map(with_claim)).await
}

/// Creates claims `NAME-0`, `NAME-1`, ..., one of each class.
async fn create_claims(world: &World, name: &str, classes: &[&str]) -> Result<()> {
    let claims = classes.iter().enumerate().map(|(number, class)| {
        json!({
            "metadata": {"name": format!("{name}-{number}")},
            "spec": {
                "storageClassName": class,
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            },
        })
    });
    world.plane.create(&claims_path(world), claims).await
}

/// A pod with the claim of its name.
fn with_claim(mut pod: Value) -> Value {
    let claim = json!({"claimName": pod["metadata"]["name"]});
    pod["spec"]["volumes"] = json!([{"name": "data", "persistentVolumeClaim": claim}]);
    pod
}

/// Fails if a number of a gang's pods other than this is bound within a few seconds.
async fn stays(world: &World, gang: &str, count: usize, when: &str) -> Result<()> {
    let began = Instant::now();
    while began.elapsed() < QUIET {
        let pods = world.pods().await?;
        let is_own = |pod: &&Pod| {
            let name = pod.metadata.name.as_deref().unwrap_or_default();
            name.starts_with(&format!("{gang}-"))
        };
        let bound = pods.iter().filter(is_own).filter(|pod| node_of(pod).is_some()).count();
        ensure!(bound == count, "{bound} pods of {gang} are bound {when}");
        sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

/// Deletes pods, claims, volumes and classes.
pub(super) async fn clear(world: &World) -> Result<()> {
    world.delete_pods().await?;
    for path in [&claims_path(world), VOLUMES, CLASSES] {
        world.delete_all(path).await?;
    }
    until("claims and volumes to be gone", Duration::from_secs(30), || async {
        let left = volumes(world).await?.len();
        Ok((left == 0).then_some(()).ok_or(format!("{left} volumes are left")))
    })
    .await
}

fn claims_path(world: &World) -> String {
    format!("/api/v1/namespaces/{}/persistentvolumeclaims", world.namespace)
}

fn claims(world: &World) -> Api<PersistentVolumeClaim> {
    Api::namespaced(world.client.clone(), &world.namespace)
}

async fn volumes(world: &World) -> Result<Vec<PersistentVolume>> {
    let volumes: Api<PersistentVolume> = Api::all(world.client.clone());
    Ok(volumes.list(&ListParams::default()).await?.items)
}

fn owner(volume: &PersistentVolume) -> Option<&str> {
    volume.spec.as_ref()?.claim_ref.as_ref()?.name.as_deref()
}

fn selected_node(claim: &PersistentVolumeClaim) -> Option<&str> {
    claim.metadata.annotations.as_ref()?.get(SELECTED_NODE).map(String::as_str)
}

fn class((name, provisioner): (&str, &str)) -> Value {
    json!({
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
    })
}

fn local_volume(number: usize) -> Value {
    volume(&format!("local-{number}"), "local", &format!("node-{number}"))
}

/// What the provisioner of the last claim would have made.
fn volume_for(claim: &PersistentVolumeClaim) -> Value {
    let node = selected_node(claim).unwrap_or_default();
    let mut volume = volume("made-late", "late", node);
    let about = &claim.metadata;
    volume["spec"]["claimRef"] = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "namespace": about.namespace, "name": about.name, "uid": about.uid,
    });
    volume
}

fn volume(name: &str, class: &str, node: &str) -> Value {
    let is_there = json!({"key": "kubernetes.io/hostname", "operator": "In", "values": [node]});
    json!({
        "metadata": {"name": name},
        "spec": {
            "storageClassName": class,
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "csi": {"driver": "static.test.kubenexus.io", "volumeHandle": name},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [is_there]}]}},
        },
    })
}
