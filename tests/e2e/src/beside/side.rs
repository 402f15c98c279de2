//! One of the two: a control plane with a scheduler that takes a case step by step.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::Api;
use kube::api::ListParams;
use serde_json::json;

use super::case::{Outcome, Step};
use super::ledger::Ledger;
use super::seen::{self, Expectations, SCHEDULER};
use super::volumes::{self, Volumes};
use crate::Args;
use crate::objects::{self, Election};
use crate::provisioner::Provisioner;
use crate::wait::until;
use crate::world::{Start, World};

/// How long a step takes at most, victims that take their time included.
const STEP_WITHIN: Duration = Duration::from_secs(20);

/// The shortest rest before a step is over.
const REST: Duration = Duration::from_millis(300);

/// What cases put into namespaces, besides pods.
const NAMESPACED: &[&str] = &[
    "/apis/apps/v1/namespaces/NAMESPACE/deployments",
    "/apis/apps/v1/namespaces/NAMESPACE/statefulsets",
    "/apis/apps/v1/namespaces/NAMESPACE/replicasets",
    "/apis/policy/v1/namespaces/NAMESPACE/poddisruptionbudgets",
    "/api/v1/namespaces/NAMESPACE/services?fieldSelector=metadata.name!=kubernetes",
    "/api/v1/namespaces/NAMESPACE/pods?gracePeriodSeconds=0",
    "/apis/events.k8s.io/v1/namespaces/NAMESPACE/events",
];

/// What cases with volumes put into namespaces, besides.
const NAMESPACED_VOLUMES: &[&str] = &[
    "/api/v1/namespaces/NAMESPACE/persistentvolumeclaims",
    "/apis/storage.k8s.io/v1/namespaces/NAMESPACE/csistoragecapacities",
];

/// What cases with volumes put beside nodes.
const VOLUMES: &[&str] = &[
    "/api/v1/persistentvolumes",
    "/apis/storage.k8s.io/v1/storageclasses",
    "/apis/storage.k8s.io/v1/csinodes",
    "/apis/storage.k8s.io/v1/csidrivers",
    "/apis/storage.k8s.io/v1/volumeattachments",
];

/// A scheduler on a control plane of its own.
pub(super) struct Side {
    pub(super) name: &'static str,
    pub(super) world: World,
    ledger: Ledger,
    provisioner: Provisioner,
    expectations: Expectations,
    /// Whether the case has claims or volumes.
    has_volumes: bool,
}

impl Side {
    /// Starts both.
    pub(super) async fn start(name: &'static str, args: &Args) -> Result<Self> {
        let mut world = World::start(args, &[]).await.context("starting a control plane")?;
        world.namespace = "default".into();
        let file = args.repository.join("tests/e2e/cases/priorities.yaml");
        world.plane.kubectl(&["apply", "-f", &file.display().to_string()]).await?;
        let mut config = objects::config(Election::Off);
        config["profiles"] = json!([{"schedulerName": SCHEDULER}]);
        world.run_scheduler(Start { proxy: None, config, flags: Vec::new() }).await?;
        let ledger = Ledger::open(world.client.clone());
        let provisioner = Provisioner::start(world.client.clone());
        let expectations = Expectations::new();
        Ok(Self { name, world, ledger, provisioner, expectations, has_volumes: false })
    }

    /// Does what a step says and waits until what it expects is there and nothing changes.
    pub(super) async fn play(&mut self, step: &Step) -> Result<()> {
        self.has_volumes |= volumes::are_in(&step.manifests);
        // kwok passes over a pod that comes with its node, if it does not know yet that the node is
        // its own, and does not look at it again.
        let is_node = |document: &&str| document.lines().any(|line| line == "kind: Node");
        let (nodes, others): (Vec<&str>, Vec<&str>) =
            step.manifests.split("\n---").partition(is_node);
        self.apply(&nodes).await?;
        self.world.wait_ready().await?;
        self.apply(&others).await?;
        for namespace in self.namespaces().await? {
            self.world.plane.wait_for_service_account(&namespace).await?;
        }
        for command in &step.commands {
            let words: Vec<_> = command.iter().map(String::as_str).collect();
            self.world.plane.kubectl(&words).await?;
        }
        self.world.wait_ready().await?;
        for expected in &step.expected {
            self.expectations.insert(expected.who.clone(), expected.outcome.clone());
        }
        self.rest().await
    }

    async fn apply(&self, documents: &[&str]) -> Result<()> {
        let text = documents.join("\n---");
        if text.trim().is_empty() {
            return Ok(());
        }
        let file = self.world.plane.folder().join("step.yaml");
        fs::write(&file, text)?;
        self.world.plane.kubectl(&["apply", "-f", &file.display().to_string()]).await?;
        Ok(())
    }

    async fn rest(&mut self) -> Result<()> {
        let rest = self.expectations.values().map(rest_after).max().unwrap_or(REST);
        let start = Instant::now();
        until("what the case expects", STEP_WITHIN, || async {
            let (records, changed) = self.ledger.read()?;
            let so_far = seen::check(&records, &self.expectations);
            let so_far = so_far.and(self.check_budgets().await?);
            let so_far = so_far.and(self.volumes().await?.check(&self.expectations));
            let is_quiet = changed.max(start).elapsed() >= rest;
            let quiet = is_quiet.then_some(()).ok_or("pods keep changing".to_owned());
            Ok(so_far.and(quiet))
        })
        .await?;
        self.provisioner.must_run()?;
        self.world.replicas[0].scheduler.must_run()
    }

    /// The claims and volumes of the case.
    async fn volumes(&self) -> Result<Volumes> {
        match self.has_volumes {
            true => Volumes::read(self.world.client.clone()).await,
            false => Ok(Volumes::default()),
        }
    }

    async fn check_budgets(&self) -> Result<Result<(), String>> {
        let budgets: Api<PodDisruptionBudget> = Api::default_namespaced(self.world.client.clone());
        for (who, outcome) in &self.expectations {
            let Outcome::Allows(number) = outcome else { continue };
            let budget = budgets.get(who).await.with_context(|| format!("reading budget {who}"))?;
            let status = budget.status.unwrap_or_default();
            let is_current = status.observed_generation == budget.metadata.generation;
            let found = status.disruptions_allowed.unwrap_or_default();
            if !is_current || found != *number {
                return Ok(Err(format!("budget {who} allows {found}, expected are {number}")));
            }
        }
        Ok(Ok(()))
    }

    /// What a user sees, as lines.
    pub(super) async fn seen(&self) -> Result<Vec<String>> {
        let events: Api<Event> = Api::all(self.world.client.clone());
        let mut events = events.list(&ListParams::default()).await?.items;
        events.retain(|event| event.reporting_controller.as_deref() == Some(SCHEDULER));
        let (records, _) = self.ledger.read()?;
        let volumes = self.volumes().await?;
        let mut lines = seen::lines(&records, &events, &self.expectations);
        lines.extend(volumes.lines());
        for (uid, text) in volumes.uids() {
            lines.iter_mut().for_each(|line| *line = line.replace(uid, &text));
        }
        lines.sort();
        Ok(lines)
    }

    /// Takes everything away that a case has made but its namespaces, which would take seconds to
    /// go and do no harm when they are empty.
    pub(super) async fn clear(&mut self) -> Result<()> {
        let mut namespaces = self.namespaces().await?;
        namespaces.push("default".into());
        for namespace in namespaces {
            for path in NAMESPACED {
                self.world.delete_all(&path.replace("NAMESPACE", &namespace)).await?;
            }
        }
        self.world.delete_all("/api/v1/nodes").await?;
        self.world.wait_empty().await?;
        self.clear_volumes().await?;
        self.expectations.clear();
        until("the watch to show that pods are gone", STEP_WITHIN, || async {
            let (records, _) = self.ledger.read()?;
            let left = records.values().filter(|record| !record.is_gone).count();
            Ok((left == 0).then_some(()).ok_or(format!("{left} are left")))
        })
        .await?;
        self.ledger.clear();
        Ok(())
    }

    /// Takes claims and volumes away once no pod uses them: until then they would stay.
    async fn clear_volumes(&mut self) -> Result<()> {
        if !self.has_volumes {
            return Ok(());
        }
        let mut namespaces = self.namespaces().await?;
        namespaces.push("default".into());
        for namespace in namespaces {
            for path in NAMESPACED_VOLUMES {
                self.world.delete_all(&path.replace("NAMESPACE", &namespace)).await?;
            }
        }
        for path in VOLUMES {
            self.world.delete_all(path).await?;
        }
        until("claims and volumes to be gone", STEP_WITHIN, || async {
            let left = self.volumes().await?.count();
            Ok((left == 0).then_some(()).ok_or(format!("{left} are left")))
        })
        .await?;
        self.has_volumes = false;
        Ok(())
    }

    /// The namespaces that cases have made.
    async fn namespaces(&self) -> Result<Vec<String>> {
        let namespaces: Api<Namespace> = Api::all(self.world.client.clone());
        let all = namespaces.list(&ListParams::default()).await?.items;
        let names = all.into_iter().filter_map(|it| it.metadata.name);
        Ok(names.filter(|name| name != "default" && !name.starts_with("kube-")).collect())
    }
}

/// How long no pod must have changed: the scheduler has seen what was seen here, and has had the
/// time to do what it should not. It tries again after a second.
fn rest_after(outcome: &Outcome) -> Duration {
    match outcome {
        Outcome::On(_) | Outcome::Gone | Outcome::Allows(_) | Outcome::Claim(_) => REST,
        Outcome::Waits(None) => 2 * REST,
        Outcome::Prebinding(_) => 5 * REST,
        Outcome::Waits(Some(_)) | Outcome::Leaving => 5 * REST,
    }
}
