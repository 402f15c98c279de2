//! Gangs in the network between nodes, and pods that ask for a fast one, as their owners see them.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::{Node, Pod};
use serde_json::{Value, json};

use super::gpus::{codes, counted};
use super::groups::says;
use super::numa::{GPU, annotated, create, delete, exclusive, goes_to, waits};
use crate::check::{self, Expected};
use crate::objects::{Election, many, node, pod};
use crate::suite::Run;
use crate::world::{Start, World, condition_of, name_of, node_of};

const SWITCH: &str = "topology.kubernetes.io/switch";
const RACK: &str = "topology.kubernetes.io/rack";
const SPINE: &str = "topology.kubernetes.io/spine";
const NETWORK: &str = "network.kubenexus.io/fabric";

const CO_LOCATE: &str = "scheduling.kubenexus.io/co-locate";
const LEVEL: &str = "scheduling.kubenexus.io/topology-level";
const MIN_TIER: &str = "scheduling.kubenexus.io/min-fabric-tier";

/// How many pods the large gang has.
const MEMBERS: usize = 16;
const INVALID: &str = "InvalidFabricRequest";

/// A node with eight GPUs and these labels.
fn machine(name: &str, labels: &[(&str, &str)]) -> Value {
    let mut node = node(name, "128", "512Gi", 110);
    for amounts in ["capacity", "allocatable"] {
        node["status"][amounts][GPU] = "8".into();
    }
    for (key, value) in labels {
        node["metadata"]["labels"][*key] = (*value).into();
    }
    node
}

/// A gang whose pods take a node each.
fn gang(name: &str, size: usize) -> Value {
    let mut template = exclusive(name, 32, 64, 8);
    let labels = &mut template["metadata"]["labels"];
    labels["pod-group.scheduling.kubenexus.io/name"] = name.into();
    labels["pod-group.scheduling.kubenexus.io/min-available"] = size.to_string().into();
    template
}

/// The values that the nodes of pods have of a label, with how many pods each has.
async fn spread(world: &World, pods: &[&Pod], label: &str) -> Result<BTreeMap<String, usize>> {
    let nodes = world.nodes().await?;
    let mut counts = BTreeMap::new();
    for pod in pods {
        let name = node_of(pod).with_context(|| format!("{} is bound", name_of(pod)))?;
        let is_it = |node: &&Node| node.metadata.name.as_deref() == Some(name);
        let labels = nodes.iter().find(is_it).and_then(|node| node.metadata.labels.as_ref());
        let value = labels.and_then(|labels| labels.get(label));
        *counts.entry(value.cloned().unwrap_or_default()).or_default() += 1;
    }
    Ok(counts)
}

/// The pods whose names begin so.
fn of<'a>(pods: &'a [Pod], name: &str) -> Vec<&'a Pod> {
    pods.iter().filter(|pod| name_of(pod).starts_with(name)).collect()
}

/// Fails unless all pods of a gang are where they share the value of a label, which is this.
async fn shares(world: &World, pods: &[Pod], name: &str, at: (&str, &str)) -> Result<()> {
    let counts = spread(world, &of(pods, name), at.0).await?;
    let is_one = counts.len() == 1 && counts.contains_key(at.1);
    ensure!(is_one, "{name} is at {counts:?} of {}, not at {}", at.0, at.1);
    Ok(())
}

/// Sixteen pods with eight GPUs each that must share a rack. One rack is too small, one is partly
/// taken and one lacks a node: all of them wait, though there are free nodes enough, and say why.
/// When the last one has its node, all of them are there.
pub(crate) fn rack(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        for (name, nodes) in [("small", 8), ("taken", MEMBERS), ("whole", MEMBERS - 1)] {
            world.create_nodes(nodes, &machine(name, &[(RACK, name)])).await?;
        }
        let mut early = exclusive("early", 4, 16, 1);
        early["spec"]["nodeName"] = "taken-3".into();
        create(world, early).await?;
        world.run_scheduler(Start::plain(Election::Off)).await?;
        let strict = annotated(gang("train", MEMBERS), CO_LOCATE, "strict");
        world.create_pods(many(&annotated(strict, LEVEL, "rack"), MEMBERS)).await?;
        let why = "gang train: room for 15 of at least 16";
        let told = world.wait_waiting("train-0", "Unschedulable", why).await?;
        let condition = condition_of(&told, "PodScheduled");
        let text = condition["message"].as_str().unwrap_or_default();
        let is_clear = text.contains("node(s) were outside the topology domain of the gang");
        ensure!(is_clear, "train-0 is told {text:?}");
        world.wait_waiting("train-15", "Unschedulable", why).await?;
        let bound = world.pods().await?.iter().filter(|pod| node_of(pod).is_some()).count();
        ensure!(bound == 1, "{} of a gang are bound that no rack holds", bound - 1);

        world.create_nodes(1, &machine("last", &[(RACK, "whole")])).await?;
        let pods = world.wait_bound(1 + MEMBERS, 30).await?;
        shares(world, &pods, "train", (RACK, "whole")).await?;
        let by_others = ["early".to_owned()].into();
        check::settled(world, &Expected { by_others, ..Expected::bound(1 + MEMBERS) }).await
    })
}

/// Four pods that had better share a rack. No rack has four free nodes, and one spine has: so all
/// of them are below that, in two racks of two.
pub(crate) fn spine(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        let racks = [("s1", "r1", 2), ("s1", "r2", 2), ("s2", "r3", 2), ("s2", "r4", 2)];
        for (spine, rack, nodes) in racks.into_iter().chain([("s3", "r5", 3)]) {
            let labels = [(RACK, rack), (SPINE, spine)];
            world.create_nodes(nodes, &machine(&format!("{spine}-{rack}"), &labels)).await?;
        }
        let mut early = exclusive("early", 4, 16, 1);
        early["spec"]["nodeName"] = "s1-r2-0".into();
        create(world, early).await?;
        world.run_scheduler(Start::plain(Election::Off)).await?;
        let preferred = annotated(gang("train", 4), CO_LOCATE, "preferred");
        world.create_pods(many(&annotated(preferred, LEVEL, "rack"), 4)).await?;
        let pods = world.wait_bound(5, 30).await?;
        shares(world, &pods, "train", (SPINE, "s2")).await?;
        let by_others = ["early".to_owned()].into();
        check::settled(world, &Expected { by_others, ..Expected::bound(5) }).await
    })
}

/// Two PodGroups that must have a rack each, and their CompositePodGroup, which must be below one
/// spine: they wait while every spine has one such rack only, and start when one has two.
pub(crate) fn two_levels(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        let racks = [("s1", "r1", 2), ("s1", "r2", 1), ("s2", "r3", 2), ("s2", "r4", 1)];
        for (spine, rack, nodes) in racks.into_iter().chain([("s3", "r5", 2)]) {
            let labels = [(RACK, rack), (SPINE, spine)];
            world.create_nodes(nodes, &machine(&format!("{spine}-{rack}"), &labels)).await?;
        }
        world.run_scheduler(Start::plain(Election::Off)).await?;
        let path = |version: &str, resource: &str| {
            format!("/apis/scheduling.k8s.io/{version}/namespaces/{}/{resource}", world.namespace)
        };
        let all = path("v1alpha3", "compositepodgroups");
        let within = |key: &str| json!({"topology": [{"key": key}]});
        let composite = json!({
            "metadata": {"name": "all"},
            "spec": {
                "workloadRef": {"workloadName": "job", "templateName": "all"},
                "schedulingPolicy": {"gang": {"minGroupCount": 2}},
                "schedulingConstraints": within(SPINE),
            },
        });
        world.plane.create(&all, [composite].into_iter()).await?;
        let parts = path("v1beta1", "podgroups");
        for name in ["one", "two"] {
            let part = json!({
                "metadata": {"name": name},
                "spec": {
                    "parentCompositePodGroupName": "all",
                    "workloadRef": {"workloadName": "job", "templateName": name},
                    "schedulingPolicy": {"gang": {"minCount": 2}},
                    "schedulingConstraints": within(RACK),
                },
            });
            world.plane.create(&parts, [part].into_iter()).await?;
            let mut template = exclusive(name, 32, 64, 8);
            template["spec"]["schedulingGroup"] = json!({"podGroupName": name});
            world.create_pods(many(&template, 2)).await?;
        }
        let (object, word) = (format!("{all}/all"), "CompositePodGroupInitiallyScheduled");
        says(world, &object, word, ("False", "Unschedulable")).await?;
        let bound = world.pods().await?.iter().filter(|pod| node_of(pod).is_some()).count();
        ensure!(bound == 0, "{bound} are bound though no spine holds all");

        let last = machine("s2-r4-last", &[(RACK, "r4"), (SPINE, "s2")]);
        world.create_nodes(1, &last).await?;
        let pods = world.wait_bound(4, 30).await?;
        says(world, &object, word, ("True", "Scheduled")).await?;
        let mut racks = BTreeSet::new();
        for name in ["one", "two"] {
            shares(world, &pods, name, (SPINE, "s2")).await?;
            let own = spread(world, &of(&pods, name), RACK).await?;
            ensure!(own.len() == 1, "{name} is in racks {own:?}");
            racks.extend(own.into_keys());
        }
        ensure!(racks.len() == 2, "both are in {racks:?}, which has two nodes");
        Ok(())
    })
}

/// An Indexed Job of eight on four switches of two nodes each: pods whose indexes follow each other
/// share a switch, though neither names of pods nor of nodes tell so.
pub(crate) fn ranks(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        // The nodes of a switch do not follow each other.
        for round in 0..2 {
            for switch in ["s1", "s2", "s3", "s4"] {
                let labels = [(SWITCH, switch), (RACK, "r1")];
                let node = machine(&format!("n{round}-{switch}"), &labels);
                world.plane.create_nodes(1, &node).await?;
            }
        }
        world.wait_ready().await?;
        world.run_scheduler(Start::plain(Election::Off)).await?;
        let template = gang("train", 8);
        let mut spec = template["spec"].clone();
        spec["restartPolicy"] = "Never".into();
        let job = json!({
            "metadata": {"name": "train"},
            "spec": {
                "completions": 8, "parallelism": 8, "completionMode": "Indexed",
                "template": {"metadata": {"labels": template["metadata"]["labels"]}, "spec": spec},
            },
        });
        let jobs = format!("/apis/batch/v1/namespaces/{}/jobs", world.namespace);
        world.plane.create(&jobs, [job].into_iter()).await?;
        let pods = world.wait_bound(8, 30).await?;
        let mut by_index = BTreeMap::new();
        for pod in &pods {
            let labels = pod.metadata.labels.clone().unwrap_or_default();
            let index = labels.get("batch.kubernetes.io/job-completion-index");
            let index: usize = index.context("a pod of the Job has an index")?.parse()?;
            let at = spread(world, &[pod], SWITCH).await?;
            by_index.insert(index, at.into_keys().next().unwrap_or_default());
        }
        let switches: Vec<&String> = by_index.values().collect();
        let are_pairs = switches.len() == 8 && switches.chunks(2).all(|pair| pair[0] == pair[1]);
        ensure!(are_pairs, "by index they are at {switches:?}");
        Ok(())
    })
}

/// A pod that asks for InfiniBand goes only there, and the next one waits while that node is full.
/// One that asks for what is not known waits, and is told which annotation says what.
pub(crate) fn tiers(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        for (name, network) in [("eth", "ethernet"), ("ib", "infiniband"), ("roce", "roce")] {
            let mut node = node(name, "8", "16Gi", 110);
            node["metadata"]["labels"][NETWORK] = network.into();
            world.create_nodes(1, &node).await?;
        }
        world.create_nodes(1, &node("unknown", "8", "16Gi", 110)).await?;
        let scheduler = world.run_scheduler(Start::plain(Election::Off)).await?;
        let asking = |name: &str, tier: &str| annotated(pod(name, "6", "64Mi"), MIN_TIER, tier);
        create(world, asking("first", "infiniband")).await?;
        goes_to(world, "first", "ib-0", None).await?;
        create(world, asking("second", "infiniband")).await?;
        let why = "1 Insufficient cpu, 3 node(s) had a network that is too slow or unknown";
        waits(world, "second", 4, why).await?;

        let wrong = asking("wrong", "fast");
        create(world, wrong.clone()).await?;
        let fault = format!(
            "annotation {MIN_TIER} is \"fast\": expected nvswitch, nvlink, infiniband, roce or \
             ethernet"
        );
        world.wait_waiting("wrong", "Unschedulable", &fault).await?;
        let found = codes(world, &wrong).await?;
        ensure!(found == [INVALID], "the verdict is {found:?}");
        counted(world, scheduler, INVALID).await?;
        delete(world, "wrong").await?;
        delete(world, "first").await?;
        goes_to(world, "second", "ib-0", None).await?;
        let deleted = ["first".to_owned()].into();
        check::settled(world, &Expected { deleted, ..Expected::bound(1) }).await
    })
}
