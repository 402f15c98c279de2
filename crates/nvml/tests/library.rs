//! The calls, against a library that is compiled for the test.

use std::path::{Path, PathBuf};
use std::process::Command;

use kubenexus_nvml::{Gpu, Link, gpus};

/// Compiles the library that stands in for NVIDIA's. Whoever links Rust has a C compiler.
fn library() -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake.c");
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libfake-ml.so");
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(source)
        .status()
        .expect("a C compiler, which Rust needs as well");
    assert!(status.success(), "compiling the library");
    library
}

#[test]
fn gpus_are_asked_for_everything_that_is_published() {
    let library = library();
    let gpu = |number: u8, bus: &str, peer: &str, clique: Option<&str>| Gpu {
        bus: bus.into(),
        uuid: Some(format!("GPU-00000000-0000-0000-0000-00000000000{number}")),
        model: Some("NVIDIA H100 80GB HBM3".into()),
        memory_bytes: Some(85_520_809_984),
        links: vec![Link::Gpu(peer.into()), Link::Switch],
        clique: clique.map(Into::into),
    };
    let clique = Some("10111213-1415-1617-1819-1a1b1c1d1e1f.7");
    let silent = Gpu { bus: "0000:3b:00.0".into(), ..Gpu::default() };
    let first = gpu(0, "0000:18:00.0", "0000:2a:00.0", clique);
    let second = gpu(1, "0000:2a:00.0", "0000:18:00.0", None);
    assert_eq!(gpus(&library).unwrap(), [first, second, silent]);
    // Stopped and closed: it can be opened again.
    assert_eq!(gpus(&library).unwrap().len(), 3);
}

#[test]
fn a_library_that_is_not_there_is_an_error_with_its_name() {
    let error = gpus(Path::new("libno-such-library.so.1")).unwrap_err();
    assert_eq!(error.to_string(), "opening libno-such-library.so.1");
}

#[test]
fn a_library_that_is_another_one_is_refused() {
    let error = gpus(Path::new("libc.so.6")).unwrap_err();
    assert!(error.to_string().starts_with("opening libc.so.6"), "{error}");
}
