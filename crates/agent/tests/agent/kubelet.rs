//! The agent beside a kubelet whose answers are known.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use kubenexus_agent::kubelet::resources::{self, Allocatable, Devices, Memory, Pod};
use model::topology::TopologyPolicy;
use tokio::net::UnixListener;

use crate::{machines, reader, tree};

/// What the stand-in says to a call.
enum Says {
    /// A message.
    Message(Vec<u8>),
    /// A refusal, after an answer has begun.
    Refuses(u32),
    /// A refusal instead of an answer.
    RefusesAtOnce(u32),
    /// A message, but for its last bytes.
    Half(Vec<u8>),
}

/// A PodResources service on a socket, until the test ends.
fn serve(socket: &Path, list: Says, allocatable: Says) {
    let socket = socket.to_owned();
    let (tell, ready) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = UnixListener::bind(&socket).unwrap();
            tell.send(()).unwrap();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let mut connection = h2::server::handshake(stream).await.unwrap();
                while let Some(Ok((request, answer))) = connection.accept().await {
                    let (head, mut body) = request.into_parts();
                    assert_eq!(head.headers["content-type"], "application/grpc");
                    let says = match head.uri.path() {
                        "/v1.PodResourcesLister/List" => &list,
                        "/v1.PodResourcesLister/GetAllocatableResources" => &allocatable,
                        other => panic!("{other}"),
                    };
                    assert_eq!(body.data().await.unwrap().unwrap(), Bytes::from_static(&[0; 5]));
                    respond(answer, says);
                }
            }
        });
    });
    ready.recv_timeout(Duration::from_secs(10)).unwrap();
}

fn respond(mut answer: h2::server::SendResponse<Bytes>, says: &Says) {
    let head = http::Response::builder().header("content-type", "application/grpc");
    let trailers = |status: u32| {
        let mut trailers = http::HeaderMap::new();
        trailers.insert("grpc-status", status.into());
        trailers.insert("grpc-message", "not today".parse().unwrap());
        trailers
    };
    if let Says::RefusesAtOnce(status) = says {
        let head = head.header("grpc-status", *status).body(()).unwrap();
        answer.send_response(head, true).unwrap();
        return;
    }
    let mut body = answer.send_response(head.body(()).unwrap(), false).unwrap();
    let status = match says {
        Says::Message(bytes) | Says::Half(bytes) => {
            let mut data = vec![0];
            data.extend((bytes.len() as u32).to_be_bytes());
            data.extend(bytes);
            if matches!(says, Says::Half(_)) {
                data.pop();
            }
            body.send_data(data.into(), false).unwrap();
            0
        }
        Says::Refuses(status) | Says::RefusesAtOnce(status) => *status,
    };
    body.send_trailers(trailers(status)).unwrap();
}

/// A field of bytes.
fn field(number: u8, bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let bytes = bytes.as_ref();
    let mut field = vec![number << 3 | 2];
    field.extend(varint(bytes.len() as u64));
    field.extend(bytes);
    field
}

/// A field of an integer; zero is not written.
fn integer(number: u8, value: u64) -> Vec<u8> {
    if value == 0 { Vec::new() } else { [vec![number << 3], varint(value)].concat() }
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn topology(nodes: &[u64]) -> Vec<u8> {
    nodes.iter().flat_map(|node| field(1, integer(1, *node))).collect()
}

fn devices(number: u8, resource: &str, ids: &[&str], nodes: &[u64]) -> Vec<u8> {
    let ids: Vec<u8> = ids.iter().flat_map(|id| field(2, id)).collect();
    field(number, [field(1, resource), ids, field(3, topology(nodes))].concat())
}

fn memory(number: u8, bytes: u64, nodes: &[u64]) -> Vec<u8> {
    field(number, [field(1, "memory"), integer(2, bytes), field(3, topology(nodes))].concat())
}

fn packed(number: u8, values: &[u64]) -> Vec<u8> {
    field(number, values.iter().flat_map(|value| varint(*value)).collect::<Vec<_>>())
}

/// One pod with two GPUs, CPUs and memory in two containers, and one that holds nothing.
fn list() -> Vec<u8> {
    let first = [
        field(1, "main"),
        devices(2, "nvidia.com/gpu", &["0000:9a:00.0"], &[1]),
        packed(3, &[4, 5]),
        memory(4, 1 << 30, &[1]),
    ];
    let second = [field(1, "side"), devices(2, "nvidia.com/gpu", &["0000:ab:00.0"], &[1])];
    let pod = [
        field(1, "train-0"),
        field(2, "team"),
        field(3, first.concat()),
        field(3, second.concat()),
        packed(4, &[4, 5, 300]),
    ];
    let idle = [field(1, "idle"), field(2, "team"), field(3, field(1, "main"))];
    [field(1, idle.concat()), field(1, pod.concat())].concat()
}

fn allocatable() -> Vec<u8> {
    [
        devices(1, "nvidia.com/gpu", &["0000:18:00.0", "0000:2a:00.0"], &[0]),
        devices(1, "nvidia.com/gpu", &["0000:9a:00.0", "0000:ab:00.0"], &[1]),
        packed(2, &[1, 2, 3, 4, 5, 6, 7]),
        memory(3, 4 << 30, &[0]),
        memory(3, 5 << 30, &[1]),
    ]
    .concat()
}

/// Names of sockets may not be long.
fn socket(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("knx-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).unwrap();
    folder.join("s")
}

fn ended(socket: &Path) {
    fs::remove_dir_all(socket.parent().unwrap()).unwrap();
}

#[tokio::test]
async fn the_kubelets_answers_are_understood() {
    let socket = socket("answers");
    serve(&socket, Says::Message(list()), Says::Message(allocatable()));
    let gpus = |ids: &[&str], node| Devices {
        resource: "nvidia.com/gpu".into(),
        ids: ids.iter().map(|id| (*id).into()).collect(),
        nodes: vec![node],
    };
    let memory = |bytes, node| Memory { kind: "memory".into(), bytes, nodes: vec![node] };
    let pod = Pod {
        namespace: "team".into(),
        name: "train-0".into(),
        devices: vec![gpus(&["0000:9a:00.0"], 1), gpus(&["0000:ab:00.0"], 1)],
        cpus: [4, 5, 300].into_iter().collect(),
        memory: vec![memory(1 << 30, 1)],
    };
    assert_eq!(resources::list(&socket).await.unwrap(), [pod]);
    let expected = Allocatable {
        devices: vec![
            gpus(&["0000:18:00.0", "0000:2a:00.0"], 0),
            gpus(&["0000:9a:00.0", "0000:ab:00.0"], 1),
        ],
        cpus: (1..8).collect(),
        memory: vec![memory(4 << 30, 0), memory(5 << 30, 1)],
    };
    assert_eq!(resources::allocatable(&socket).await.unwrap(), Some(expected));
    ended(&socket);
}

#[tokio::test]
async fn a_large_answer_is_read_whole() {
    let socket = socket("large");
    let pod = |number: usize| {
        let container = devices(2, "example.com/nic", &[&format!("nic-{number}")], &[]);
        let name = format!("pod-{number:05}");
        field(1, [field(1, name), field(2, "team"), field(3, container)].concat())
    };
    // More than one window of HTTP/2.
    let answer: Vec<u8> = (0..5000).flat_map(pod).collect();
    assert!(answer.len() > 200_000);
    serve(&socket, Says::Message(answer), Says::Message(Vec::new()));
    let pods = resources::list(&socket).await.unwrap();
    assert_eq!(pods.len(), 5000);
    assert_eq!(pods[4999].devices[0].ids, ["nic-4999"]);
    ended(&socket);
}

#[tokio::test]
async fn refusals_and_broken_answers_are_errors() {
    for (name, says, text) in [
        ("later", Says::Refuses(8), "List is refused with status 8: not today"),
        ("once", Says::RefusesAtOnce(7), "List is refused with status 7"),
        ("unknown", Says::Refuses(12), "does not know List"),
        ("half", Says::Half(list()), "has"),
        ("malformed", Says::Message(vec![0x0a, 9, 1]), "malformed message"),
    ] {
        let socket = socket(name);
        serve(&socket, says, Says::RefusesAtOnce(12));
        let error = format!("{:#}", resources::list(&socket).await.unwrap_err());
        assert!(error.contains(text), "{error}");
        // A call that an older kubelet does not have is no error.
        assert_eq!(resources::allocatable(&socket).await.unwrap(), None);
        ended(&socket);
    }
    let error = format!("{:#}", resources::list(Path::new("no/such")).await.unwrap_err());
    assert!(error.contains("asking the kubelet at no/such: "), "{error}");
}

#[test]
fn what_pods_hold_is_published_with_their_uids() {
    let root = tree::scratch("held");
    tree::expand("two-sockets", &root);
    let logs = root.join("pods");
    // The pod was made anew: its older folder is not its own.
    for uid in ["0-older", "1-newer"] {
        fs::create_dir_all(logs.join(format!("team_train-0_{uid}"))).unwrap();
        thread::sleep(Duration::from_millis(20));
    }
    let config = root.join("kubelet.yaml");
    let text = "kind: KubeletConfiguration\ntopologyManagerPolicy: restricted\n";
    fs::write(&config, text).unwrap();
    let socket = socket("held");
    serve(&socket, Says::Message(list()), Says::Message(allocatable()));
    let printed = machines::printed(&machines::dry_run(
        &root,
        &[
            &format!("--kubelet-socket={}", socket.display()),
            &format!("--kubelet-config={}", config.display()),
            &format!("--pod-logs={}", logs.display()),
            "--publish=nrt",
        ],
    ));
    let (node, topology) = printed.split_once("---\n").unwrap();
    let node: serde_json::Value = serde_json::from_str(node).unwrap();
    let annotations = &node["metadata"]["annotations"];
    let expected = r#"{"version":1,"devices":{"nvidia.com/gpu":{"1-newer":[2,3]}},"#.to_owned()
        + r#""cpus":{"1-newer":"4-5,300"},"memory":{"1-newer":{"memory":{"1":1073741824}}}}"#;
    assert_eq!(annotations["device.kubenexus.io/allocations"], expected);
    let kubelet = annotations["numa.kubenexus.io/kubelet"].as_str().unwrap();
    assert!(kubelet.starts_with(r#"{"topologyManagerPolicy":"restricted","#), "{kubelet}");
    // NUMA nodes are in the topology, so labels do not say them again.
    let labels = node["metadata"]["labels"].as_object().unwrap();
    assert!(labels.contains_key("gpu.kubenexus.io/gpu0-numa"), "{labels:?}");
    assert!(!labels.contains_key("numa.kubenexus.io/node-count"), "{labels:?}");
    let topology: serde_json::Value = serde_json::from_str(topology).unwrap();
    assert_eq!(topology["kind"], "NodeResourceTopology");
    assert_eq!(topology["attributes"][0]["value"], "restricted");
    let zone = &topology["zones"][1];
    let resources = serde_json::json!([
        {"name": "cpu", "capacity": "8", "allocatable": "4", "available": "2"},
        {"name": "memory", "capacity": "541131808768", "allocatable": "5368709120",
         "available": "4294967296"},
        {"name": "nvidia.com/gpu", "capacity": "2", "allocatable": "2", "available": "0"},
    ]);
    assert_eq!((&zone["name"], &zone["resources"]), (&"node-1".into(), &resources));
    let facts = reader::topology(&topology);
    assert!(facts.unread.is_empty(), "{:?}", facts.unread);
    assert_eq!((facts.policy, facts.zones.len()), (Some(TopologyPolicy::Restricted), 2));
    let zone = &facts.zones[1];
    let amount = zone.amount("cpu").unwrap();
    assert_eq!((amount.capacity, amount.allocatable, amount.available), (8, 4, 2));
    assert_eq!((zone.cpus.as_ref().unwrap().count(), zone.distances.len()), (8, 2));
    ended(&socket);
}
