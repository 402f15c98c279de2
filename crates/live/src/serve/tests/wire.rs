//! Answers over TLS on loopback, and certificates that change.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

use super::{Api, HEALTH_PATHS};
use crate::metrics::Metrics;
use crate::serve::{Health, Options, Source, bind, self_signed, tls};

const LOOPBACK: Ipv4Addr = Ipv4Addr::LOCALHOST;
const PATIENCE: Duration = Duration::from_secs(20);

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("kubenexus-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A certificate and its key, made for this test.
fn made() -> tls::Text {
    self_signed::make(LOOPBACK.into()).expect("a certificate")
}

fn der(pem: &[u8]) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pem).expect("a certificate")
}

fn files(folder: &Path) -> Source {
    Source::Files { certificate: folder.join("tls.crt"), key: folder.join("tls.key") }
}

fn write(folder: &Path, text: &tls::Text) {
    fs::create_dir_all(folder).expect("a folder");
    fs::write(folder.join("tls.crt"), &text.certificate).expect("written");
    fs::write(folder.join("tls.key"), &text.key).expect("written");
}

fn serve(certificate: Source) -> (SocketAddr, JoinHandle<()>) {
    let address = SocketAddr::from((LOOPBACK, 0));
    let always_allow = HEALTH_PATHS.map(str::to_owned).into();
    let server = bind(&Options { address, certificate, always_allow }).expect("a free port");
    let address = server.listener.local_addr().expect("an address");
    let health = Arc::new(Health::new(|| true));
    health.set_synced();
    let metrics = Arc::new(Metrics::new(["p"], "h", "l"));
    let client = Arc::new(Api::default()).client();
    (address, tokio::spawn(server.run(client, health, metrics, json!({}))))
}

/// Sends `request` over a connection that trusts `root` alone, by a name of the certificate.
async fn ask(
    address: SocketAddr,
    root: &CertificateDer<'static>,
    name: &'static str,
    request: &str,
) -> Result<String, String> {
    let mut roots = RootCertStore::empty();
    roots.add(root.clone()).map_err(|error| error.to_string())?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
    let name = ServerName::try_from(name).expect("a name");
    let connected = TlsConnector::from(Arc::new(config)).connect(name, stream).await;
    let mut stream = connected.map_err(|error| error.to_string())?;
    stream.write_all(request.as_bytes()).await.map_err(|error| error.to_string())?;
    let mut answer = Vec::new();
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await;
    read.expect("an answer in time").map_err(|error| error.to_string())?;
    Ok(String::from_utf8(answer).expect("a text"))
}

const LIVEZ: &str = "GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

/// Asks until `root` is what the server shows.
async fn until_shown(address: SocketAddr, root: &CertificateDer<'static>) {
    let end = Instant::now() + PATIENCE;
    while ask(address, root, "localhost", LIVEZ).await.is_err() {
        assert!(Instant::now() < end, "the certificate is not shown");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn requests_are_answered_over_tls() {
    let (folder, text) = (Folder::new("requests"), made());
    write(&folder.0, &text);
    let (address, server) = serve(files(&folder.0));
    let root = der(&text.certificate);
    for name in ["localhost", "127.0.0.1"] {
        let answer = ask(address, &root, name, LIVEZ).await.expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.contains("content-type: text/plain; charset=utf-8\r\n"), "{answer}");
        assert!(answer.ends_with("\r\n\r\nok"), "{answer}");
    }
    let head = LIVEZ.replace("GET", "HEAD");
    let answer = ask(address, &root, "localhost", &head).await.expect("an answer");
    assert!(answer.contains("content-length: 2\r\n") && answer.ends_with("\r\n\r\n"), "{answer}");
    let metrics = LIVEZ.replace("/livez", "/metrics");
    let answer = ask(address, &root, "localhost", &metrics).await.expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 401 Unauthorized\r\n"), "{answer}");
    let token = metrics.replace("Host: x", "Host: x\r\nAuthorization: Bearer scraper");
    let answer = ask(address, &root, "localhost", &token).await.expect("an answer");
    assert!(answer.contains("200 OK") && answer.ends_with("# EOF\n"), "{answer}");
    let error = ask(address, &der(&made().certificate), "localhost", LIVEZ).await;
    assert!(error.expect_err("another root").contains("invalid peer certificate"));
    server.abort();
    let _ = server.await;
    assert!(TcpStream::connect(address).await.is_err(), "dropped");
}

#[tokio::test]
async fn a_changed_certificate_is_taken_up_and_a_broken_one_is_not() {
    let folder = Folder::new("reload");
    let (first, second, third) = (made(), made(), made());
    write(&folder.0, &first);
    let (address, _server) = serve(files(&folder.0));
    until_shown(address, &der(&first.certificate)).await;
    write(&folder.0, &second);
    until_shown(address, &der(&second.certificate)).await;
    // The key of another: what was good stays, until the key has arrived as well.
    fs::write(folder.0.join("tls.crt"), &third.certificate).expect("written");
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    ask(address, &der(&second.certificate), "localhost", LIVEZ).await.expect("the last good one");
    fs::write(folder.0.join("tls.key"), &third.key).expect("written");
    until_shown(address, &der(&third.certificate)).await;
}

#[tokio::test]
async fn links_that_are_swapped_as_the_kubelet_does_are_followed() {
    let folder = Folder::new("links");
    let (first, second) = (made(), made());
    write(&folder.0.join("..1"), &first);
    write(&folder.0.join("..2"), &second);
    symlink("..1", folder.0.join("..data")).expect("a link");
    for name in ["tls.crt", "tls.key"] {
        symlink(Path::new("..data").join(name), folder.0.join(name)).expect("a link");
    }
    let (address, _server) = serve(files(&folder.0));
    until_shown(address, &der(&first.certificate)).await;
    symlink("..2", folder.0.join("..data_tmp")).expect("a link");
    fs::rename(folder.0.join("..data_tmp"), folder.0.join("..data")).expect("renamed");
    fs::remove_dir_all(folder.0.join("..1")).expect("removed");
    until_shown(address, &der(&second.certificate)).await;
}

#[test]
fn files_are_looked_at_once_a_second() {
    let folder = Folder::new("period");
    let (first, second) = (made(), made());
    write(&folder.0, &first);
    let certificate = tls::Certificate::load(&files(&folder.0), LOOPBACK.into()).expect("loaded");
    let start = Instant::now();
    certificate.refresh(start + Duration::from_secs(1));
    write(&folder.0, &second);
    certificate.refresh(start + Duration::from_millis(1_900));
    assert_eq!(certificate.shown(), [der(&first.certificate)]);
    certificate.refresh(start + Duration::from_secs(2));
    assert_eq!(certificate.shown(), [der(&second.certificate)]);
    // A chain that grows around the same key.
    let chain = [&*second.certificate, &*first.certificate].concat();
    fs::write(folder.0.join("tls.crt"), chain).expect("written");
    certificate.refresh(start + Duration::from_secs(3));
    let chain = [der(&second.certificate), der(&first.certificate)];
    assert_eq!(certificate.shown(), chain);
    fs::remove_file(folder.0.join("tls.key")).expect("removed");
    certificate.refresh(start + Duration::from_secs(4));
    assert_eq!(certificate.shown(), chain, "a file that is away for a while");
}

#[test]
fn a_folder_gets_a_certificate_once() {
    let folder = Folder::new("folder");
    let inner = folder.0.join("pki");
    let load = || tls::Certificate::load(&Source::Folder(inner.clone()), LOOPBACK.into());
    let first = load().expect("made").shown();
    let mode = |name: &str| {
        let metadata = fs::metadata(inner.join(name)).expect("written");
        metadata.permissions().mode() & 0o777
    };
    assert_eq!(mode("kubenexus-scheduler.key"), 0o600);
    assert_eq!(mode("kubenexus-scheduler.crt") & 0o133, 0);
    assert_eq!(load().expect("read").shown(), first, "used again");
    fs::remove_file(inner.join("kubenexus-scheduler.crt")).expect("removed");
    let error = format!("{:#}", load().expect_err("half a pair"));
    let expected = format!("--cert-dir: reading {}", inner.display());
    assert!(error.starts_with(&expected), "{error}");
}

#[test]
fn without_files_every_start_has_its_own_certificate() {
    let load = || tls::Certificate::load(&Source::Memory, LOOPBACK.into()).expect("made");
    assert_ne!(load().shown(), load().shown());
}

#[test]
fn keys_of_elliptic_curves_may_be_in_their_own_form() {
    let folder = Folder::new("sec1");
    let text = made();
    write(&folder.0, &tls::Text { key: sec1(&text.key), ..text });
    tls::Certificate::load(&files(&folder.0), LOOPBACK.into()).expect("loaded");
}

/// The key inside a PKCS#8 key for the curve P-256, on its own.
fn sec1(pkcs8: &[u8]) -> Vec<u8> {
    let pkcs8 = rustls::pki_types::PrivatePkcs8KeyDer::from_pem_slice(pkcs8).expect("PKCS#8");
    // SEQUENCE { INTEGER, SEQUENCE { OID, OID }, OCTET STRING { the key } }
    let at = pkcs8.secret_pkcs8_der().windows(3).position(|bytes| bytes == [0x30, 0x6b, 0x02]);
    let inner = &pkcs8.secret_pkcs8_der()[at.expect("the key")..];
    let length = 2 + usize::from(inner[1]);
    pem("EC PRIVATE KEY", &inner[..length])
}

fn pem(label: &str, der: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in der.chunks(3) {
        let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - chunk.len()));
        for at in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * at) & 63) as usize];
            text.push(if at <= chunk.len() { digit.into() } else { '=' });
        }
    }
    format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n").into_bytes()
}

#[test]
fn what_cannot_be_used_is_named_by_flag_and_file() {
    let folder = Folder::new("refused");
    let (text, other) = (made(), made());
    let refused = |certificate: Option<&[u8]>, key: Option<&[u8]>| {
        for (name, bytes) in [("tls.crt", certificate), ("tls.key", key)] {
            let path = folder.0.join(name);
            match bytes {
                Some(bytes) => fs::write(path, bytes).expect("written"),
                None => _ = fs::remove_file(path),
            }
        }
        let address = SocketAddr::from((LOOPBACK, 0));
        let options = Options { address, certificate: files(&folder.0), always_allow: Vec::new() };
        let error = bind(&options).err().expect("refused");
        format!("{error:#}").replace(&folder.0.display().to_string(), "F")
    };
    let (certificate, key) = (Some(&*text.certificate), Some(&*text.key));
    let table = [
        (None, key, "--tls-cert-file: reading F/tls.crt: No such file"),
        (certificate, None, "--tls-private-key-file: reading F/tls.key: No such file"),
        (
            Some(&b"hello"[..]),
            key,
            "--tls-cert-file: F/tls.crt: expected a certificate in PEM, with its chain, found none",
        ),
        (
            certificate,
            certificate,
            "--tls-private-key-file: F/tls.key: expected a private key in PEM (PKCS#8, PKCS#1 or",
        ),
        (
            certificate,
            Some(&*other.key),
            "--tls-private-key-file: F/tls.key: expected the key of --tls-cert-file: F/tls.crt: ",
        ),
    ];
    for (certificate, key, expected) in table {
        let error = refused(certificate, key);
        assert!(error.starts_with(expected), "{error}\n{expected}");
    }
}

#[test]
fn a_port_that_is_taken_is_named() {
    let taken = std::net::TcpListener::bind((LOOPBACK, 0)).expect("a port");
    let address = taken.local_addr().expect("an address");
    let options = Options { address, certificate: Source::Memory, always_allow: Vec::new() };
    let error = format!("{:#}", bind(&options).err().expect("refused"));
    let expected = format!("listening on {address} (--bind-address, --secure-port): Address");
    assert!(error.starts_with(&expected), "{error}");
}

#[test]
fn flags_name_one_source() {
    let [certificate, key, folder] = ["c", "k", "f"].map(PathBuf::from);
    let source =
        |certificate: Option<&PathBuf>, key: Option<&PathBuf>, folder: Option<&PathBuf>| {
            Source::from_flags(certificate.cloned(), key.cloned(), folder.cloned())
        };
    let both = Source::Files { certificate: certificate.clone(), key: key.clone() };
    assert_eq!(source(Some(&certificate), Some(&key), Some(&folder)).expect("both"), both);
    assert_eq!(source(None, None, Some(&folder)).expect("one"), Source::Folder(folder.clone()));
    assert_eq!(source(None, None, None).expect("none"), Source::Memory);
    assert!(source(Some(&certificate), None, None).is_err());
    assert!(source(None, Some(&key), Some(&folder)).is_err());
}
