//! The certificate that is served: where it comes from, and taking it up again when it changes.
//!
//! Files are looked at when somebody connects, at most once a second, and compared by content: it
//! does not matter whether they are written in place, renamed or reached through links that are
//! swapped. A change that cannot be used is reported once, and the last good pair stays.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, NoServerSessionStorage, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{Error, InconsistentKeys, ServerConfig};
use tracing::{info, warn};

use super::self_signed;

/// How often files are looked at.
const PERIOD: Duration = Duration::from_secs(1);
/// Names of the files in a folder.
const NAME: &str = "kubenexus-scheduler";

/// Where the certificate comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// From these files: `--tls-cert-file` and `--tls-private-key-file`.
    Files {
        /// The certificate, and the chain up to its issuer.
        certificate: PathBuf,
        /// Its private key.
        key: PathBuf,
    },
    /// From the folder `--cert-dir`; if it has none, one is made and written there.
    Folder(PathBuf),
    /// One is made, and lives as long as the process.
    Memory,
}

impl Source {
    /// The source that flags name.
    ///
    /// # Errors
    /// When only one of the two files is given.
    pub fn from_flags(
        certificate: Option<PathBuf>,
        key: Option<PathBuf>,
        folder: Option<PathBuf>,
    ) -> Result<Self> {
        match (certificate, key, folder) {
            (Some(certificate), Some(key), _) => Ok(Self::Files { certificate, key }),
            (Some(_), None, _) => {
                bail!("--tls-cert-file is given, but not --tls-private-key-file: give both")
            }
            (None, Some(_), _) => {
                bail!("--tls-private-key-file is given, but not --tls-cert-file: give both")
            }
            (None, None, Some(folder)) => Ok(Self::Folder(folder)),
            (None, None, None) => Ok(Self::Memory),
        }
    }
}

/// A certificate and its key in PEM.
#[derive(PartialEq, Eq)]
pub(super) struct Text {
    pub(super) certificate: Vec<u8>,
    pub(super) key: Vec<u8>,
}

/// The certificate that is served at this moment.
pub(super) struct Certificate {
    files: Option<Files>,
    state: Mutex<State>,
}

/// Where a pair is read, and by which flags it was named.
struct Files {
    certificate: PathBuf,
    key: PathBuf,
    certificate_flag: &'static str,
    key_flag: &'static str,
}

struct State {
    pair: Arc<CertifiedKey>,
    looked_at: Instant,
    /// What the files held last, good or not.
    seen: Text,
    /// Why they could not be read last.
    fault: Option<String>,
}

impl Certificate {
    /// Loads the certificate, or makes it. `address` is where it will be served.
    pub(super) fn load(source: &Source, address: IpAddr) -> Result<Self> {
        let files = match source {
            Source::Files { certificate, key } => Some(Files {
                certificate: certificate.clone(),
                key: key.clone(),
                certificate_flag: "--tls-cert-file",
                key_flag: "--tls-private-key-file",
            }),
            Source::Folder(folder) => Some(Files {
                certificate: folder.join(NAME).with_extension("crt"),
                key: folder.join(NAME).with_extension("key"),
                certificate_flag: "--cert-dir",
                key_flag: "--cert-dir",
            }),
            Source::Memory => None,
        };
        let seen = match (&files, source) {
            (Some(files), Source::Folder(folder)) if files.are_missing() => {
                let text = self_signed::make(address)?;
                let writing = || format!("--cert-dir: writing a certificate to {folder:?}");
                files.write(folder, &text).with_context(writing)?;
                text
            }
            (Some(files), _) => files.read()?,
            (None, _) => self_signed::make(address)?,
        };
        let pair = match &files {
            Some(files) => files.pair(&seen)?,
            None => pair(&seen, "certificate", "key")?,
        };
        let state = State { pair: Arc::new(pair), looked_at: Instant::now(), seen, fault: None };
        Ok(Self { files, state: Mutex::new(state) })
    }

    /// Takes up the files if they changed.
    pub(super) fn refresh(&self, now: Instant) {
        let Some(files) = &self.files else { return };
        let mut state = self.state();
        if now.saturating_duration_since(state.looked_at) < PERIOD {
            return;
        }
        state.looked_at = now;
        let read = files.read().and_then(|text| {
            if text == state.seen {
                return Ok(None);
            }
            let pair = files.pair(&text);
            state.seen = text;
            pair.map(Some)
        });
        match read {
            Ok(None) => state.fault = None,
            Ok(Some(pair)) => {
                info!(file = ?files.certificate, "the certificate changed");
                state.pair = Arc::new(pair);
                state.fault = None;
            }
            Err(error) => {
                let fault = Some(format!("{error:#}"));
                if state.fault != fault {
                    warn!(fault, "the certificate changed and cannot be used, the last one stays");
                    state.fault = fault;
                }
            }
        }
    }

    /// Whole after every statement, also where a thread panicked.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
impl Certificate {
    /// The chain that is served at this moment.
    pub(super) fn shown(&self) -> Vec<CertificateDer<'static>> {
        self.state().pair.cert.clone()
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.state().pair.clone())
    }
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Never the key.
        let file = self.files.as_ref().map(|files| &files.certificate);
        f.debug_struct("Certificate").field("file", &file).finish_non_exhaustive()
    }
}

/// TLS 1.2 or 1.3, HTTP/1.1, no sessions: who connects again is shown the certificate again.
pub(super) fn server_config(certificate: Arc<Certificate>) -> Arc<ServerConfig> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider has suites for both versions")
        .with_no_client_auth()
        .with_cert_resolver(certificate);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Arc::new(config)
}

fn provider() -> CryptoProvider {
    ring::default_provider()
}

impl Files {
    /// Whether neither is there. One without the other is a mistake that reading will name.
    fn are_missing(&self) -> bool {
        let is_missing = |path: &Path| {
            fs::metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound)
        };
        is_missing(&self.certificate) && is_missing(&self.key)
    }

    fn read(&self) -> Result<Text> {
        let read = |path: &Path, flag| {
            fs::read(path).with_context(|| format!("{flag}: reading {}", path.display()))
        };
        let certificate = read(&self.certificate, self.certificate_flag)?;
        Ok(Text { certificate, key: read(&self.key, self.key_flag)? })
    }

    fn pair(&self, text: &Text) -> Result<CertifiedKey> {
        let certificate = format!("{}: {}", self.certificate_flag, self.certificate.display());
        let key = format!("{}: {}", self.key_flag, self.key.display());
        pair(text, &certificate, &key)
    }

    fn write(&self, folder: &Path, text: &Text) -> Result<()> {
        fs::create_dir_all(folder)?;
        let put = |path: &Path, mode, text: &[u8]| {
            let mut options = OpenOptions::new();
            let file = options.write(true).create_new(true).mode(mode).open(path);
            file.and_then(|mut file| file.write_all(text))
        };
        put(&self.key, 0o600, &text.key)?;
        put(&self.certificate, 0o644, &text.certificate)?;
        Ok(())
    }
}

/// Reads a pair; `certificate` and `key` name its parts in errors.
fn pair(text: &Text, certificate: &str, key: &str) -> Result<CertifiedKey> {
    let expected = "expected a certificate in PEM, with its chain";
    let chain = CertificateDer::pem_slice_iter(&text.certificate).collect::<Result<Vec<_>, _>>();
    let chain = chain.map_err(|error| anyhow!("{certificate}: {expected}: {error}"))?;
    if chain.is_empty() {
        bail!("{certificate}: {expected}, found none");
    }
    let expected = "expected a private key in PEM (PKCS#8, PKCS#1 or SEC1)";
    let secret = PrivateKeyDer::from_pem_slice(&text.key)
        .map_err(|error| anyhow!("{key}: {expected}: {error}"))?;
    let secret = provider()
        .key_provider
        .load_private_key(secret)
        .map_err(|error| anyhow!("{key}: {expected}: {error}"))?;
    let pair = CertifiedKey::new(chain, secret);
    match pair.keys_match() {
        Ok(()) | Err(Error::InconsistentKeys(InconsistentKeys::Unknown)) => Ok(pair),
        Err(error) => bail!("{key}: expected the key of {certificate}: {error}"),
    }
}
