//! Facts, gathered from everywhere and kept between two looks.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::desired::{Facts, Held};
use crate::gpus::{self, AskGpus};
use crate::kubelet::config::KubeletConfig;
use crate::kubelet::{pods, resources};
use crate::options::Options;
use crate::said::Said;
use crate::sysfs::{self, Sysfs};

/// A kubelet that does not answer for so long is no source any more: pods that it had may be gone.
const SILENCE_MAX: Duration = Duration::from_secs(300);

/// What is known, and since when.
pub struct Observer<'a> {
    options: &'a Options,
    sysfs: Sysfs,
    nvml: &'a dyn AskGpus,
    /// What the library said, and of which GPUs; it is asked again when these change.
    known: Option<(Vec<sysfs::Gpu>, Vec<nvml::Gpu>)>,
    facts: Facts,
    signature: String,
    /// When the kubelet answered last.
    answered: Option<Instant>,
    /// What was logged.
    pub said: Said,
}

impl<'a> Observer<'a> {
    /// Knows nothing yet.
    pub fn new(options: &'a Options, nvml: &'a dyn AskGpus) -> Self {
        let sysfs = Sysfs::at(&options.sysfs_root);
        Self {
            options,
            sysfs,
            nvml,
            known: None,
            facts: Facts::default(),
            signature: String::new(),
            answered: None,
            said: Said::default(),
        }
    }

    /// What is known, and the log.
    pub fn parts(&mut self) -> (&Facts, &mut Said) {
        (&self.facts, &mut self.said)
    }

    /// Whether hardware came or went since the last full look.
    pub fn has_changed(&self) -> bool {
        self.sysfs.signature() != self.signature
    }

    /// Looks at everything.
    pub async fn look(&mut self) -> &Facts {
        self.signature = self.sysfs.signature();
        self.facts.machine = self.sysfs.machine();
        if self.facts.machine.nodes.is_empty() {
            let folder = self.options.sysfs_root.join("devices/system/node");
            self.said.warn("numa", &format!("no NUMA nodes below {}", folder.display()));
        }
        self.ask_library();
        match KubeletConfig::read(&self.options.kubelet_config) {
            Ok(config) => self.facts.kubelet = config,
            Err(error) => {
                self.facts.kubelet = None;
                self.said.warn("kubelet-config", &format!("{error:#}"));
            }
        }
        self.ask_allocatable().await;
        self.look_at_pods().await
    }

    /// Looks at who holds what.
    pub async fn look_at_pods(&mut self) -> &Facts {
        let socket = &self.options.kubelet_socket;
        if !socket.exists() {
            self.no_kubelet(&format!("no PodResources socket at {}", socket.display()));
            return &self.facts;
        }
        match resources::list(socket).await {
            Ok(pods) => {
                let uids = uids(&self.options.pod_logs, &pods);
                self.answered = Some(Instant::now());
                self.facts.held = Some(Held { pods, uids });
                self.said.info("kubelet", "the kubelet tells which pod holds what");
            }
            Err(error) => self.no_kubelet(&format!("{error:#}")),
        }
        &self.facts
    }

    /// What a kubelet that restarts said last still holds for a while.
    fn no_kubelet(&mut self, why: &str) {
        self.said.warn("kubelet", &format!("who holds what is not known: {why}"));
        if self.answered.is_none_or(|last| last.elapsed() > SILENCE_MAX) {
            self.facts.held = None;
            self.facts.allocatable = None;
        }
    }

    async fn ask_allocatable(&mut self) {
        let socket = &self.options.kubelet_socket;
        if !socket.exists() {
            return;
        }
        match resources::allocatable(socket).await {
            Ok(found) => {
                self.facts.allocatable = found;
                self.said.settled("allocatable");
            }
            Err(error) => self.said.warn("allocatable", &format!("{error:#}")),
        }
    }

    /// Starting NVIDIA's library may wake every GPU, so it is asked once for the GPUs there are.
    fn ask_library(&mut self) {
        let found = &self.facts.machine.gpus;
        if !found.iter().any(sysfs::Gpu::is_nvidia) {
            self.known = None;
        } else if self.known.as_ref().is_none_or(|(of, _)| of != found) {
            match self.nvml.ask() {
                Ok(known) => self.known = Some((found.clone(), known)),
                Err(error) => {
                    self.known = None;
                    let text = format!("GPUs are described without NVIDIA's library: {error}");
                    self.said.info("nvml", &text);
                }
            }
        }
        let known = self.known.as_ref().map_or(&[][..], |(_, known)| known);
        self.facts.gpus = gpus::join(found, known);
    }
}

fn uids(folder: &Path, held: &[resources::Pod]) -> pods::Uids {
    let mut uids = match held {
        [] => pods::Uids::new(),
        _ => pods::uids(folder),
    };
    uids.retain(|(namespace, name), _| {
        held.iter().any(|pod| pod.namespace == *namespace && pod.name == *name)
    });
    uids
}
