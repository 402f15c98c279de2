//! Who may see what: the API server is asked who a caller is (TokenReview) and whether the caller
//! may (SubjectAccessReview). Its answers are kept for a few seconds; tokens are not kept at all.
//!
//! What cannot be reviewed is refused.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use http::HeaderMap;
use http::header::AUTHORIZATION;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::Api;
use kube::api::PostParams;
use rustls::SupportedCipherSuite;
use rustls::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256;

/// How long an answer of the API server counts.
const KEPT: Duration = Duration::from_secs(10);
/// How many answers of each kind are kept.
const KEPT_MAX: usize = 1024;
/// How long a review may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What becomes of a caller.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Everyone may see this.
    Open,
    /// The caller is known and may see this.
    Allowed,
    /// Nobody knows the caller.
    Unknown,
    /// The caller is known and may not see this.
    Forbidden {
        /// The caller's name.
        user: String,
    },
    /// The API server could not be asked, for this reason.
    NotReviewed(String),
}

/// Paths that are open to everyone.
pub(super) struct OpenPaths {
    paths: Vec<String>,
    prefixes: Vec<String>,
}

impl OpenPaths {
    /// Reads the list; a slash at the start of a path may be left out.
    pub(super) fn new(list: &[String]) -> Result<Self> {
        let mut open = Self { paths: Vec::new(), prefixes: Vec::new() };
        for path in list {
            let path = path.strip_prefix('/').unwrap_or(path);
            match path.strip_suffix('*') {
                Some(prefix) if !prefix.contains('*') => open.prefixes.push(prefix.to_owned()),
                None if !path.contains('*') => open.paths.push(path.to_owned()),
                Some(_) | None => bail!(
                    "--authorization-always-allow-paths: expected paths with a \"*\" only at their \
                     end, found {path:?}"
                ),
            }
        }
        Ok(open)
    }

    fn has(&self, path: &str) -> bool {
        let path = path.strip_prefix('/').unwrap_or(path);
        let is_prefix = |prefix: &String| path.starts_with(&**prefix);
        self.paths.iter().any(|open| open == path) || self.prefixes.iter().any(is_prefix)
    }
}

/// Asks the API server, and remembers.
pub(super) struct Access {
    open: OpenPaths,
    tokens: Api<TokenReview>,
    rights: Api<SubjectAccessReview>,
    /// Who the caller with a token is; nothing if nobody.
    users: Mutex<Kept<Option<UserInfo>>>,
    /// Whether a user may get a path.
    allowed: Mutex<Kept<bool>>,
}

impl Access {
    pub(super) fn new(client: kube::Client, open: OpenPaths) -> Self {
        Self {
            open,
            tokens: Api::all(client.clone()),
            rights: Api::all(client),
            users: Mutex::default(),
            allowed: Mutex::default(),
        }
    }

    /// Whether everyone may see a path.
    pub(super) fn is_open(&self, path: &str) -> bool {
        self.open.has(path)
    }

    /// The token a caller shows.
    pub(super) fn token(headers: &HeaderMap) -> Option<&str> {
        let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
        let token = token.trim();
        (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
    }

    /// Whether a caller may get a path that is not open.
    pub(super) async fn review(&self, headers: &HeaderMap, path: &str, now: Instant) -> Verdict {
        let Some(token) = Self::token(headers) else { return Verdict::Unknown };
        let user = match self.user(token, now).await {
            Ok(Some(user)) => user,
            Ok(None) => return Verdict::Unknown,
            Err(fault) => return Verdict::NotReviewed(format!("TokenReview: {fault}")),
        };
        match self.may_get(&user, path, now).await {
            Ok(true) => Verdict::Allowed,
            Ok(false) => Verdict::Forbidden { user: user.username.unwrap_or_default() },
            Err(fault) => Verdict::NotReviewed(format!("SubjectAccessReview: {fault}")),
        }
    }

    async fn user(&self, token: &str, now: Instant) -> Result<Option<UserInfo>, String> {
        let key = digest(token.as_bytes());
        if let Some(user) = lock(&self.users).get(&key, now) {
            return Ok(user);
        }
        let spec = TokenReviewSpec { token: token.to_owned(), ..TokenReviewSpec::default() };
        let review = TokenReview { spec, ..TokenReview::default() };
        let status = create(&self.tokens, &review).await?.status.unwrap_or_default();
        let user = status.user.filter(|_| status.authenticated == Some(true));
        lock(&self.users).put(key, user.clone(), now);
        Ok(user)
    }

    async fn may_get(&self, user: &UserInfo, path: &str, now: Instant) -> Result<bool, String> {
        let spec = SubjectAccessReviewSpec {
            user: user.username.clone(),
            uid: user.uid.clone(),
            groups: user.groups.clone(),
            extra: user.extra.clone(),
            non_resource_attributes: Some(NonResourceAttributes {
                path: Some(path.to_owned()),
                verb: Some("get".into()),
            }),
            resource_attributes: None,
        };
        let key = digest(&serde_json::to_vec(&spec).expect("text can be written as JSON"));
        if let Some(is_allowed) = lock(&self.allowed).get(&key, now) {
            return Ok(is_allowed);
        }
        let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
        let status = create(&self.rights, &review).await?.status.unwrap_or_default();
        let is_allowed = status.allowed && status.denied != Some(true);
        lock(&self.allowed).put(key, is_allowed, now);
        Ok(is_allowed)
    }
}

#[cfg(test)]
impl Access {
    /// How many answers are kept of each kind.
    pub(super) fn kept(&self) -> (usize, usize) {
        (lock(&self.users).0.len(), lock(&self.allowed).0.len())
    }
}

async fn create<K>(api: &Api<K>, review: &K) -> Result<K, String>
where
    K: Clone + std::fmt::Debug + serde::Serialize + serde::de::DeserializeOwned,
{
    let parameters = PostParams::default();
    match tokio::time::timeout(PATIENCE, api.create(&parameters, review)).await {
        Ok(answered) => answered.map_err(|error| error.to_string()),
        Err(_) => Err(format!("no answer within {} s", PATIENCE.as_secs())),
    }
}

type Digest = [u8; 32];

/// SHA-256, of which TLS has one.
fn digest(bytes: &[u8]) -> Digest {
    let SupportedCipherSuite::Tls13(suite) = TLS13_AES_128_GCM_SHA256 else {
        unreachable!("a suite of TLS 1.3")
    };
    let output = suite.common.hash_provider.hash(bytes);
    output.as_ref().try_into().expect("SHA-256 has 32 bytes")
}

/// Answers, each until it is too old.
struct Kept<T>(BTreeMap<Digest, (Instant, T)>);

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T: Clone> Kept<T> {
    fn get(&self, key: &Digest, now: Instant) -> Option<T> {
        let (end, value) = self.0.get(key)?;
        (now < *end).then(|| value.clone())
    }

    fn put(&mut self, key: Digest, value: T, now: Instant) {
        if self.0.len() >= KEPT_MAX {
            self.0.retain(|_, (end, _)| now < *end);
        }
        if self.0.len() >= KEPT_MAX {
            let oldest = self.0.iter().min_by_key(|(_, (end, _))| *end).map(|(key, _)| *key);
            oldest.and_then(|key| self.0.remove(&key));
        }
        self.0.insert(key, (now + KEPT, value));
    }
}

/// What is kept is whole after every statement, also where a thread panicked.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
