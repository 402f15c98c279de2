//! Machines as text. A line is a part of the machine, and becomes files as the kernel has them:
//!
//! ```text
//! cpu 0,8 socket 0                     two CPUs that share a core
//! node 0 cpus 0-3,8-11 kB 1024 distance 10 21
//! pci 0000:18:00.0 class 0x030200 vendor 0x10de device 0x2330 numa 0 below pci0000:15/0000:15:01.0
//! file devices/system/cpu/online 0-15
//! link class/infiniband/mlx5_0/device ../../../0000:19:00.0
//! ```

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// All machines there are, by name.
pub(crate) fn names() -> Vec<String> {
    let entries = fs::read_dir(folder()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> =
        names.filter_map(|name| name.strip_suffix(".txt").map(Into::into)).collect();
    names.sort();
    names
}

/// Where machines are, and what is expected of them.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trees")
}

/// A folder of a test's own, empty.
pub(crate) fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Expands a machine below a folder.
pub(crate) fn expand(name: &str, root: &Path) {
    let text = fs::read_to_string(folder().join(format!("{name}.txt"))).unwrap();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (kind, rest) = line.split_once(' ').unwrap();
        match kind {
            "cpu" => cpu(root, rest),
            "node" => node(root, rest),
            "pci" => pci(root, rest),
            "file" => {
                let (path, text) = rest.split_once(' ').unwrap_or((rest, ""));
                write(&root.join(path), text);
            }
            "link" => {
                let (path, target) = rest.split_once(' ').unwrap();
                link(&root.join(path), target);
            }
            _ => panic!("{name}: {line}"),
        }
    }
}

/// The words behind a key, up to the next key.
fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    const KEYS: [&str; 11] = [
        "socket", "cpus", "kB", "distance", "class", "vendor", "device", "numa", "below", "MB/s",
        "end",
    ];
    let text = text.split_once(&format!(" {key} "))?.1;
    let ends = KEYS.iter().filter_map(|key| text.find(&format!(" {key} ")));
    Some(&text[..ends.min().unwrap_or(text.len())])
}

fn cpu(root: &Path, text: &str) {
    let (cpus, _) = text.split_once(' ').unwrap();
    for cpu in cpus.split(',') {
        let folder = root.join(format!("devices/system/cpu/cpu{cpu}/topology"));
        write(&folder.join("core_cpus_list"), cpus);
        write(&folder.join("physical_package_id"), value(text, "socket").unwrap());
    }
}

fn node(root: &Path, text: &str) {
    let (id, _) = text.split_once(' ').unwrap();
    let folder = root.join(format!("devices/system/node/node{id}"));
    // A node without CPUs has an empty list.
    write(&folder.join("cpulist"), value(text, "cpus").unwrap_or(""));
    if let Some(memory) = value(text, "kB") {
        let text = format!("Node {id} MemTotal:       {memory} kB\nNode {id} MemFree: 1 kB");
        write(&folder.join("meminfo"), &text);
    }
    if let Some(distance) = value(text, "distance") {
        write(&folder.join("distance"), distance);
    }
    if let Some(bandwidth) = value(text, "MB/s") {
        write(&folder.join("access0/initiators/read_bandwidth"), bandwidth);
    }
}

fn pci(root: &Path, text: &str) {
    let (bus, _) = text.split_once(' ').unwrap();
    let at = format!("devices/{}/{bus}", value(text, "below").unwrap());
    for (key, file) in
        [("class", "class"), ("vendor", "vendor"), ("device", "device"), ("numa", "numa_node")]
    {
        if let Some(text) = value(text, key) {
            write(&root.join(&at).join(file), text);
        }
    }
    link(&root.join("bus/pci/devices").join(bus), &format!("../../../{at}"));
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("{text}\n")).unwrap();
}

fn link(path: &Path, target: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    symlink(target, path).unwrap();
}
