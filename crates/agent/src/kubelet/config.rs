//! The kubelet's configuration file, as far as it decides where pods land inside the machine.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};

/// A configuration that is longer is not read.
const BYTES_MAX: u64 = 1 << 20;

/// A KubeletConfiguration. What is not written has the kubelet's own default.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct KubeletConfig {
    /// `none`, `best-effort`, `restricted` or `single-numa-node`.
    pub topology_manager_policy: String,
    /// `container` or `pod`.
    pub topology_manager_scope: String,
    /// Such as `max-allowable-numa-nodes`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub topology_manager_policy_options: BTreeMap<String, String>,
    /// `none` or `static`.
    pub cpu_manager_policy: String,
    /// Such as `full-pcpus-only`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub cpu_manager_policy_options: BTreeMap<String, String>,
    /// `None` or `Static`.
    pub memory_manager_policy: String,
    /// CPUs that no pod gets.
    #[serde(rename = "reservedSystemCPUs", skip_serializing_if = "String::is_empty")]
    pub reserved_system_cpus: String,
    /// Memory of NUMA nodes that no pod gets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reserved_memory: Vec<ReservedMemory>,
    /// What the system has for itself.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub system_reserved: BTreeMap<String, String>,
    /// What Kubernetes has for itself.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub kube_reserved: BTreeMap<String, String>,
}

/// Memory of a NUMA node that is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReservedMemory {
    /// The NUMA node.
    pub numa_node: u32,
    /// How much of what.
    pub limits: BTreeMap<String, String>,
}

impl Default for KubeletConfig {
    fn default() -> Self {
        Self {
            topology_manager_policy: "none".into(),
            topology_manager_scope: "container".into(),
            topology_manager_policy_options: BTreeMap::new(),
            cpu_manager_policy: "none".into(),
            cpu_manager_policy_options: BTreeMap::new(),
            memory_manager_policy: "None".into(),
            reserved_system_cpus: String::new(),
            reserved_memory: Vec::new(),
            system_reserved: BTreeMap::new(),
            kube_reserved: BTreeMap::new(),
        }
    }
}

impl KubeletConfig {
    /// Reads a file; `None` if there is none, or none for us to read.
    ///
    /// # Errors
    /// When there is one that is no KubeletConfiguration.
    pub fn read(path: &Path) -> Result<Option<Self>> {
        let reading = || format!("reading the kubelet's configuration {}", path.display());
        let about = match fs::metadata(path) {
            Ok(about) => about,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).with_context(reading),
        };
        ensure!(
            about.is_file() && about.len() <= BYTES_MAX,
            "{}: expected a file of at most {BYTES_MAX} bytes",
            reading()
        );
        let text = fs::read_to_string(path).with_context(reading)?;
        Self::parse(&text).with_context(reading).map(Some)
    }

    /// Reads a text.
    ///
    /// # Errors
    /// When it is no KubeletConfiguration.
    pub fn parse(text: &str) -> Result<Self> {
        #[derive(Deserialize)]
        struct Document {
            kind: String,
            #[serde(flatten)]
            config: KubeletConfig,
        }
        let document: Document = serde_saphyr::from_str(text)?;
        ensure!(
            document.kind == "KubeletConfiguration",
            "kind is {:?}, expected KubeletConfiguration",
            document.kind
        );
        let mut config = document.config;
        // Written and empty means the default, as in the kubelet.
        let default = Self::default();
        for (value, default) in [
            (&mut config.topology_manager_policy, default.topology_manager_policy),
            (&mut config.topology_manager_scope, default.topology_manager_scope),
            (&mut config.cpu_manager_policy, default.cpu_manager_policy),
            (&mut config.memory_manager_policy, default.memory_manager_policy),
        ] {
            if value.is_empty() {
                *value = default;
            }
        }
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_written_has_the_kubelets_default() {
        let text = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
        assert_eq!(KubeletConfig::parse(text).unwrap(), KubeletConfig::default());
        let text = format!("{text}topologyManagerPolicy: \"\"\nclusterDNS: [10.0.0.10]\n");
        assert_eq!(KubeletConfig::parse(&text).unwrap(), KubeletConfig::default());
    }

    #[test]
    fn what_decides_about_numa_nodes_is_read() {
        let text = "kind: KubeletConfiguration\n\
                    topologyManagerPolicy: single-numa-node\n\
                    topologyManagerScope: pod\n\
                    cpuManagerPolicy: static\n\
                    cpuManagerPolicyOptions: {full-pcpus-only: \"true\"}\n\
                    memoryManagerPolicy: Static\n\
                    reservedSystemCPUs: 0-1\n\
                    reservedMemory:\n- numaNode: 0\n  limits: {memory: 1Gi}\n\
                    systemReserved: {cpu: 500m}\n";
        let config = KubeletConfig::parse(text).unwrap();
        let text = serde_json::to_string(&config).unwrap();
        assert_eq!(
            text,
            r#"{"topologyManagerPolicy":"single-numa-node","topologyManagerScope":"pod","#
                .to_owned()
                + r#""cpuManagerPolicy":"static","#
                + r#""cpuManagerPolicyOptions":{"full-pcpus-only":"true"},"#
                + r#""memoryManagerPolicy":"Static","reservedSystemCPUs":"0-1","#
                + r#""reservedMemory":[{"numaNode":0,"limits":{"memory":"1Gi"}}],"#
                + r#""systemReserved":{"cpu":"500m"}}"#
        );
    }

    #[test]
    fn other_documents_are_refused_and_no_file_is_no_error() {
        for text in ["kind: Pod\n", "topologyManagerPolicy: none\n", "[1, 2]\n", "{"] {
            assert!(KubeletConfig::parse(text).is_err(), "{text}");
        }
        assert_eq!(KubeletConfig::read(Path::new("no/such/file")).unwrap(), None);
        let error = KubeletConfig::read(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap_err();
        assert!(error.to_string().contains("expected a file"), "{error}");
    }
}
