//! What NVIDIA's library adds, and how often it is asked.

use std::cell::{Cell, RefCell};
use std::fs;
use std::path::Path;

use clap::Parser as _;
use kubenexus_agent::desired::{Zones, desired};
use kubenexus_agent::gpus::AskGpus;
use kubenexus_agent::observe::Observer;
use kubenexus_agent::options::Options;
use nvml::{Error, Gpu, Link};

use crate::tree;

/// A library that says what it is told to, and counts.
#[derive(Default)]
struct Fake {
    gpus: RefCell<Vec<Gpu>>,
    asked: Cell<usize>,
}

impl AskGpus for Fake {
    fn ask(&self) -> Result<Vec<Gpu>, Error> {
        self.asked.set(self.asked.get() + 1);
        match self.gpus.borrow().is_empty() {
            true => Err(Error::Call { call: "nvmlInit_v2", code: 9 }),
            false => Ok(self.gpus.borrow().clone()),
        }
    }
}

fn gpu(bus: &str, link: Link) -> Gpu {
    Gpu {
        bus: bus.into(),
        uuid: Some(format!("GPU-of-{bus}")),
        model: Some("NVIDIA H100 80GB HBM3".into()),
        memory_bytes: Some(80 << 30),
        links: vec![link],
        clique: Some("11111111-2222-3333-4444-555555555555.3".into()),
    }
}

fn options(root: &Path) -> Options {
    let root = format!("--sysfs-root={}", root.display());
    let nothing = ["--kubelet-socket=no/such", "--kubelet-config=no/such"];
    Options::parse_from([&["kubenexus-agent", &root], &nothing[..]].concat())
}

#[tokio::test]
async fn gpus_get_names_memory_and_links() {
    let root = tree::scratch("library");
    tree::expand("two-sockets", &root);
    let fake = Fake::default();
    let buses = ["0000:18:00.0", "0000:2a:00.0", "0000:9a:00.0", "0000:ab:00.0"];
    fake.gpus.replace(buses.iter().map(|bus| gpu(bus, Link::Switch)).collect());
    let options = options(&root);
    let mut observer = Observer::new(&options, &fake);
    let desired = desired(observer.look().await, Zones::Labels);
    let clique = &desired.labels["gpu.kubenexus.io/clique"];
    assert_eq!(clique, "11111111-2222-3333-4444-555555555555.3");
    let devices: serde_json::Value =
        serde_json::from_str(&desired.annotations["gpu.kubenexus.io/devices"]).unwrap();
    let expected = serde_json::json!({
        "index": 1, "pcie-bus-id": "0000:2a:00.0", "numa-node": 0, "pcie-root": "pci0000:15",
        "pcie-switch": "0000:16:00.0", "vendor": "10de", "device": "2330",
        "uuid": "GPU-of-0000:2a:00.0", "model": "NVIDIA H100 80GB HBM3", "vram": 85899345920_u64,
        "nvlink-domain": 0, "nvlink-peers": [0, 2, 3],
    });
    assert_eq!(devices[1], expected);
}

#[tokio::test]
async fn the_library_is_asked_until_it_answers_and_when_gpus_change() {
    let root = tree::scratch("library-asked");
    tree::expand("two-sockets", &root);
    let fake = Fake::default();
    let options = options(&root);
    let mut observer = Observer::new(&options, &fake);
    for asked in 1..=2 {
        observer.look().await;
        assert_eq!(fake.asked.get(), asked, "no answer yet");
    }
    fake.gpus.replace(vec![gpu("0000:18:00.0", Link::Switch)]);
    for _ in 0..3 {
        assert!(observer.look().await.gpus[0].uuid.is_some());
        assert_eq!(fake.asked.get(), 3);
    }
    assert!(!observer.has_changed());
    fs::remove_file(root.join("bus/pci/devices/0000:ab:00.0")).unwrap();
    assert!(observer.has_changed());
    assert_eq!(observer.look().await.gpus.len(), 3);
    assert_eq!(fake.asked.get(), 4);
}

#[tokio::test]
async fn a_machine_without_nvidia_is_not_asked_about() {
    let root = tree::scratch("library-amd");
    tree::expand("eight", &root);
    let fake = Fake::default();
    let options = options(&root);
    assert_eq!(Observer::new(&options, &fake).look().await.gpus.len(), 2);
    assert_eq!(fake.asked.get(), 0);
}
