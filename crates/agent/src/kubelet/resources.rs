//! The kubelet's PodResources socket: which pod holds which devices, CPUs and memory.
//!
//! Two calls of one gRPC service, made by hand over HTTP/2: a framework for them would be larger
//! than the agent.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use bytes::{Buf as _, Bytes};
use http::{HeaderMap, Request};
use tokio::net::UnixStream;

use super::message::{Fields, Malformed};
use crate::cpulist::CpuList;

/// How long the kubelet may take for an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest answer that is read; a node with 250 pods has some 100 KiB.
const ANSWER_BYTES_MAX: usize = 8 << 20;
/// What the service says when it does not have a call.
const UNIMPLEMENTED: &str = "12";

/// What a pod holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pod {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Devices, of all its containers.
    pub devices: Vec<Devices>,
    /// CPUs that nobody else uses.
    pub cpus: CpuList,
    /// Memory and huge pages that are pinned to NUMA nodes.
    pub memory: Vec<Memory>,
}

/// Devices of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Devices {
    /// `nvidia.com/gpu`.
    pub resource: String,
    /// The device plugin's names for them.
    pub ids: Vec<String>,
    /// The NUMA nodes they are attached to, as the device plugin says.
    pub nodes: Vec<u32>,
}

/// Memory of NUMA nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// `memory` or `hugepages-2Mi`.
    pub kind: String,
    /// How much.
    pub bytes: u64,
    /// Of which nodes; of several if one has too little.
    pub nodes: Vec<u32>,
}

/// What the kubelet can give to pods.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allocatable {
    /// Healthy devices.
    pub devices: Vec<Devices>,
    /// CPUs that can be given exclusively; none where the kubelet does not do that.
    pub cpus: CpuList,
    /// Memory; none where the kubelet does not pin it.
    pub memory: Vec<Memory>,
}

/// Asks who holds what. Pods that hold nothing are left out; the others are in a fixed order.
///
/// # Errors
/// When the kubelet does not answer, or not so that it can be understood.
pub async fn list(socket: &Path) -> Result<Vec<Pod>> {
    let Some(answer) = call(socket, "List").await? else {
        bail!("the kubelet at {} does not know List", socket.display());
    };
    read_list(&answer).context("reading the kubelet's answer to List")
}

/// Asks what there is to hold; `None` where the kubelet does not tell.
///
/// # Errors
/// As [`list`].
pub async fn allocatable(socket: &Path) -> Result<Option<Allocatable>> {
    let Some(answer) = call(socket, "GetAllocatableResources").await? else { return Ok(None) };
    let reading = "reading the kubelet's answer to GetAllocatableResources";
    read_allocatable(&answer).context(reading).map(Some)
}

/// Makes a call without arguments; `None` if the service does not have it.
async fn call(socket: &Path, method: &str) -> Result<Option<Bytes>> {
    let asking = || format!("asking the kubelet at {}", socket.display());
    let exchange = async {
        let stream = UnixStream::connect(socket).await?;
        let (requests, connection) = h2::client::handshake(stream).await?;
        // The connection ends when `requests` and the answer are dropped.
        let (answer, _) = tokio::join!(exchange(requests, method), async {
            // How it ended is told to whoever waits for the answer.
            let _ = connection.await;
        });
        answer
    };
    let answer = tokio::time::timeout(PATIENCE, exchange).await;
    answer.with_context(|| format!("no answer within {PATIENCE:?}")).flatten().with_context(asking)
}

async fn exchange(requests: h2::client::SendRequest<Bytes>, method: &str) -> Result<Option<Bytes>> {
    let request = Request::post(format!("http://localhost/v1.PodResourcesLister/{method}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(())?;
    let mut requests = requests.ready().await?;
    let (response, mut body) = requests.send_request(request, false)?;
    // Not compressed, and no bytes: the message without fields.
    body.send_data(Bytes::from_static(&[0; 5]), true)?;
    let response = response.await?;
    ensure!(response.status() == 200, "HTTP status {}", response.status());
    if let Some(status) = status(response.headers()) {
        return refused(method, &status, response.headers()).map(|()| None);
    }
    let mut data = response.into_body();
    let mut answer = Vec::new();
    while let Some(chunk) = data.data().await {
        let chunk = chunk?;
        data.flow_control().release_capacity(chunk.len())?;
        answer.extend_from_slice(&chunk);
        ensure!(answer.len() <= ANSWER_BYTES_MAX, "more than {ANSWER_BYTES_MAX} bytes");
    }
    let trailers = data.trailers().await?.context("the answer ends without a status")?;
    let status = status(&trailers).context("the answer ends without a status")?;
    if status != "0" {
        return refused(method, &status, &trailers).map(|()| None);
    }
    message(answer.into()).map(Some)
}

fn status(headers: &HeaderMap) -> Option<String> {
    Some(headers.get("grpc-status")?.to_str().ok()?.to_owned())
}

/// A call that is not there is no error.
fn refused(method: &str, status: &str, headers: &HeaderMap) -> Result<()> {
    let text = headers.get("grpc-message").and_then(|text| text.to_str().ok()).unwrap_or_default();
    ensure!(status == UNIMPLEMENTED, "{method} is refused with status {status}: {text}");
    Ok(())
}

/// The one message of an answer, without the five bytes in front.
fn message(mut answer: Bytes) -> Result<Bytes> {
    ensure!(answer.len() >= 5, "the answer has no message");
    let is_compressed = answer.get_u8() != 0;
    ensure!(!is_compressed, "the answer is compressed, which was not asked for");
    let length = answer.get_u32() as usize;
    ensure!(answer.len() == length, "a message of {length} bytes has {}", answer.len());
    Ok(answer)
}

fn read_list(bytes: &[u8]) -> Result<Vec<Pod>, Malformed> {
    let mut pods = Vec::new();
    for field in Fields(bytes) {
        if let (1, value) = field? {
            pods.push(read_pod(value.bytes()?)?);
        }
    }
    let holds =
        |pod: &Pod| !(pod.devices.is_empty() && pod.cpus.is_empty() && pod.memory.is_empty());
    pods.retain(holds);
    pods.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
    Ok(pods)
}

fn read_pod(bytes: &[u8]) -> Result<Pod, Malformed> {
    let mut pod = Pod::default();
    let (mut cpus, mut own) = (Vec::new(), Vec::new());
    for field in Fields(bytes) {
        match field? {
            (1, value) => pod.name = value.text()?,
            (2, value) => pod.namespace = value.text()?,
            (3, value) => read_container(value.bytes()?, &mut pod, &mut cpus)?,
            (4, value) => value.integers(&mut cpus)?,
            (5, value) => own.push(read_memory(value.bytes()?)?),
            _ => {}
        }
    }
    // What the pod has as a whole includes what its containers have.
    if !own.is_empty() {
        pod.memory = own;
    }
    pod.cpus = cpu_list(&cpus)?;
    Ok(pod)
}

fn read_container(bytes: &[u8], pod: &mut Pod, cpus: &mut Vec<u64>) -> Result<(), Malformed> {
    for field in Fields(bytes) {
        match field? {
            (2, value) => pod.devices.push(read_devices(value.bytes()?)?),
            (3, value) => value.integers(cpus)?,
            (4, value) => pod.memory.push(read_memory(value.bytes()?)?),
            _ => {}
        }
    }
    Ok(())
}

fn read_allocatable(bytes: &[u8]) -> Result<Allocatable, Malformed> {
    let mut found = Allocatable::default();
    let mut cpus = Vec::new();
    for field in Fields(bytes) {
        match field? {
            (1, value) => found.devices.push(read_devices(value.bytes()?)?),
            (2, value) => value.integers(&mut cpus)?,
            (3, value) => found.memory.push(read_memory(value.bytes()?)?),
            _ => {}
        }
    }
    found.cpus = cpu_list(&cpus)?;
    Ok(found)
}

fn read_devices(bytes: &[u8]) -> Result<Devices, Malformed> {
    let mut devices = Devices::default();
    for field in Fields(bytes) {
        match field? {
            (1, value) => devices.resource = value.text()?,
            (2, value) => devices.ids.push(value.text()?),
            (3, value) => devices.nodes = read_nodes(value.bytes()?)?,
            _ => {}
        }
    }
    Ok(devices)
}

fn read_memory(bytes: &[u8]) -> Result<Memory, Malformed> {
    let mut memory = Memory::default();
    for field in Fields(bytes) {
        match field? {
            (1, value) => memory.kind = value.text()?,
            (2, value) => memory.bytes = value.integer()?,
            (3, value) => memory.nodes = read_nodes(value.bytes()?)?,
            _ => {}
        }
    }
    Ok(memory)
}

/// The NUMA nodes of a topology. Node 0 is an empty message: zero is not written.
fn read_nodes(bytes: &[u8]) -> Result<Vec<u32>, Malformed> {
    let mut nodes = Vec::new();
    for field in Fields(bytes) {
        let (1, value) = field? else { continue };
        let mut id = 0;
        for field in Fields(value.bytes()?) {
            if let (1, value) = field? {
                id = value.integer()?;
            }
        }
        nodes.push(u32::try_from(id).map_err(|_| Malformed)?);
    }
    nodes.sort_unstable();
    nodes.dedup();
    Ok(nodes)
}

fn cpu_list(cpus: &[u64]) -> Result<CpuList, Malformed> {
    let cpu = |cpu: &u64| u32::try_from(*cpu).map_err(|_| Malformed);
    cpus.iter().map(cpu).collect()
}
