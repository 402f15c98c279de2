//! Answers without a network: who gets what, and how often the API server is asked.

mod wire;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use http::header::{ALLOW, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use kube::client::Body;
use serde_json::{Value, json};
use tower::service_fn;

use super::access::{Access, OpenPaths, Verdict};
use super::health::Health;
use super::site::Site;
use crate::metrics::{self, Metrics};

const HEALTH_PATHS: [&str; 3] = ["/healthz", "/readyz", "/livez"];

/// An API server that knows two tokens: `scraper` may read metrics, `nobody` may not. `odd` is
/// allowed and denied at once.
#[derive(Default)]
struct Api {
    token_reviews: AtomicUsize,
    access_reviews: AtomicUsize,
    /// Answers 500 to everything.
    is_broken: std::sync::atomic::AtomicBool,
    /// The last access review.
    asked: Mutex<Value>,
}

impl Api {
    fn client(self: &Arc<Self>) -> kube::Client {
        let api = self.clone();
        let service = service_fn(move |request: Request<Body>| {
            let api = api.clone();
            async move {
                let path = request.uri().path().to_owned();
                let body = request.into_body().collect().await?.to_bytes();
                let (status, answer) = api.answer(&path, serde_json::from_slice(&body)?);
                let body = Full::new(answer.to_string().into_bytes().into());
                let mut response = Response::new(body);
                *response.status_mut() = status;
                Ok::<_, tower::BoxError>(response)
            }
        });
        kube::Client::new(service, "default")
    }

    fn answer(&self, path: &str, mut review: Value) -> (StatusCode, Value) {
        if self.is_broken.load(Ordering::Relaxed) {
            let status = json!({"kind": "Status", "status": "Failure", "code": 500});
            return (StatusCode::INTERNAL_SERVER_ERROR, status);
        }
        match path {
            "/apis/authentication.k8s.io/v1/tokenreviews" => {
                self.token_reviews.fetch_add(1, Ordering::Relaxed);
                let token = review["spec"]["token"].as_str().expect("a token").to_owned();
                review["status"] = match &*token {
                    "scraper" | "nobody" | "odd" => json!({"authenticated": true, "user": {
                        "username": token, "uid": "7", "groups": ["g"], "extra": {"e": ["v"]},
                    }}),
                    "expired" => json!({"user": {"username": "scraper"}}),
                    _ => json!({"error": "invalid bearer token"}),
                };
            }
            "/apis/authorization.k8s.io/v1/subjectaccessreviews" => {
                self.access_reviews.fetch_add(1, Ordering::Relaxed);
                *self.asked.lock().unwrap() = review["spec"].clone();
                let user = review["spec"]["user"].as_str().expect("a user");
                review["status"] = json!({"allowed": user != "nobody", "denied": user == "odd"});
            }
            _ => panic!("{path}"),
        }
        (StatusCode::CREATED, review)
    }

    fn reviews(&self) -> (usize, usize) {
        let [tokens, access] = [&self.token_reviews, &self.access_reviews];
        (tokens.load(Ordering::Relaxed), access.load(Ordering::Relaxed))
    }
}

fn open(paths: &[&str]) -> OpenPaths {
    let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
    OpenPaths::new(&paths).expect("valid paths")
}

fn site(api: &Arc<Api>, open_paths: &[&str], health: &Arc<Health>) -> Site {
    let access = Access::new(api.client(), open(open_paths));
    let metrics = Arc::new(Metrics::new(["p"], "h", "l"));
    Site::new(access, health.clone(), metrics, &json!({"kind": "KubeSchedulerConfiguration"}))
}

async fn get(site: &Site, path: &str, authorization: &str) -> (StatusCode, HeaderMap, String) {
    let mut request = Request::get(path).body(()).expect("a request");
    if !authorization.is_empty() {
        let value = authorization.parse().expect("a header");
        request.headers_mut().insert(AUTHORIZATION, value);
    }
    let (head, body) = site.answer(&request).await.into_parts();
    let body = body.collect().await.expect("a body").to_bytes();
    (head.status, head.headers, String::from_utf8(body.into()).expect("a text"))
}

#[tokio::test]
async fn metrics_and_configuration_are_for_those_who_are_known_and_allowed() {
    let api = Arc::new(Api::default());
    let site = site(&api, &HEALTH_PATHS, &Arc::new(Health::new(|| true)));
    let table = [
        ("", StatusCode::UNAUTHORIZED),
        ("Basic c2NyYXBlcjp4", StatusCode::UNAUTHORIZED),
        ("Bearer", StatusCode::UNAUTHORIZED),
        ("Bearer  ", StatusCode::UNAUTHORIZED),
        ("Bearer wrong", StatusCode::UNAUTHORIZED),
        ("Bearer expired", StatusCode::UNAUTHORIZED),
        ("Bearer nobody", StatusCode::FORBIDDEN),
        ("Bearer odd", StatusCode::FORBIDDEN),
        ("Bearer scraper", StatusCode::OK),
        ("bearer scraper", StatusCode::OK),
    ];
    for path in ["/metrics", "/configz", "/metrics?x=y"] {
        for (authorization, expected) in table {
            let (status, ..) = get(&site, path, authorization).await;
            assert_eq!(status, expected, "{path} {authorization:?}");
        }
    }
    let (_, headers, body) = get(&site, "/metrics", "Bearer scraper").await;
    assert_eq!(headers[CONTENT_TYPE], metrics::CONTENT_TYPE);
    assert!(body.contains("\nscheduler_pending_pods{") && body.ends_with("# EOF\n"), "{body}");
    let (_, headers, body) = get(&site, "/configz", "Bearer scraper").await;
    assert_eq!(headers[CONTENT_TYPE], "application/json");
    let expected = "{\"kubescheduler.config.k8s.io\":{\"kind\":\"KubeSchedulerConfiguration\"}}";
    assert_eq!(body, expected);
}

#[tokio::test]
async fn who_is_refused_is_told_in_the_words_of_the_api() {
    let api = Arc::new(Api::default());
    let site = site(&api, &HEALTH_PATHS, &Arc::new(Health::new(|| true)));
    let (_, headers, body) = get(&site, "/metrics", "Bearer nobody").await;
    assert_eq!(headers[CONTENT_TYPE], "application/json");
    let status: Value = serde_json::from_str(&body).expect("JSON");
    let expected = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "forbidden: User \"nobody\" cannot get path \"/metrics\"",
        "reason": "Forbidden", "details": {}, "code": 403,
    });
    assert_eq!(status, expected);
    let (_, _, body) = get(&site, "/metrics", "Bearer wrong").await;
    let status: Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!((&status["reason"], &status["code"]), (&json!("Unauthorized"), &json!(401)));
    let (_, headers, _) = get(&site, "/metrics", "").await;
    assert_eq!(headers["www-authenticate"], "Bearer");
}

#[tokio::test]
async fn a_review_says_who_asks_for_what() {
    let api = Arc::new(Api::default());
    let site = site(&api, &[], &Arc::new(Health::new(|| true)));
    get(&site, "/metrics", "Bearer scraper").await;
    let expected = json!({
        "user": "scraper", "uid": "7", "groups": ["g"], "extra": {"e": ["v"]},
        "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
    });
    assert_eq!(*api.asked.lock().unwrap(), expected);
}

#[tokio::test]
async fn answers_count_for_ten_seconds_good_or_bad() {
    let api = Arc::new(Api::default());
    let access = Access::new(api.client(), open(&[]));
    let start = Instant::now();
    let review = async |token: &str, path, seconds| {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, format!("Bearer {token}").parse().expect("a header"));
        access.review(&headers, path, start + Duration::from_millis(seconds)).await
    };
    assert_eq!(review("scraper", "/metrics", 0).await, Verdict::Allowed);
    assert_eq!(api.reviews(), (1, 1));
    assert_eq!(review("scraper", "/metrics", 9_999).await, Verdict::Allowed);
    assert_eq!(api.reviews(), (1, 1), "known");
    assert_eq!(review("scraper", "/configz", 9_999).await, Verdict::Allowed);
    assert_eq!(api.reviews(), (1, 2), "another path");
    assert_eq!(review("scraper", "/metrics", 10_000).await, Verdict::Allowed);
    assert_eq!(api.reviews(), (2, 3), "too old");
    assert_eq!(review("wrong", "/metrics", 0).await, Verdict::Unknown);
    assert_eq!(review("wrong", "/metrics", 9_999).await, Verdict::Unknown);
    assert_eq!(api.reviews(), (3, 3), "also when nobody");
    let forbidden = || Verdict::Forbidden { user: "nobody".into() };
    assert_eq!(review("nobody", "/metrics", 0).await, forbidden());
    assert_eq!(review("nobody", "/metrics", 9_999).await, forbidden());
    assert_eq!(api.reviews(), (4, 4), "also when forbidden");
    assert_eq!(review("nobody", "/metrics", 10_000).await, forbidden());
    assert_eq!(api.reviews(), (5, 5), "too old");
}

#[tokio::test]
async fn what_cannot_be_reviewed_is_refused_and_asked_again() {
    let api = Arc::new(Api::default());
    let site = site(&api, &HEALTH_PATHS, &Arc::new(Health::new(|| true)));
    api.is_broken.store(true, Ordering::Relaxed);
    for _ in 0..2 {
        let (status, _, body) = get(&site, "/metrics", "Bearer scraper").await;
        assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
        assert!(!body.contains("scheduler_pending_pods"), "{body}");
    }
    assert_eq!(get(&site, "/livez", "Bearer scraper").await.0, StatusCode::OK, "open");
    api.is_broken.store(false, Ordering::Relaxed);
    assert_eq!(get(&site, "/metrics", "Bearer scraper").await.0, StatusCode::OK);
    api.is_broken.store(true, Ordering::Relaxed);
    let (status, ..) = get(&site, "/configz", "Bearer scraper").await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR, "who is known may still be refused");
}

#[tokio::test]
async fn callers_without_end_are_not_remembered_without_end() {
    let api = Arc::new(Api::default());
    let access = Access::new(api.client(), open(&[]));
    let start = Instant::now();
    for number in 0..1_500_u32 {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, format!("Bearer {number}").parse().expect("a header"));
        let now = start + Duration::from_millis(number.into());
        assert_eq!(access.review(&headers, "/metrics", now).await, Verdict::Unknown);
    }
    assert_eq!(access.kept(), (1024, 0));
}

#[tokio::test]
async fn health_is_open_and_reasons_are_for_those_who_may_know_them() {
    let api = Arc::new(Api::default());
    let health = Arc::new(Health::new(|| true));
    let site = site(&api, &HEALTH_PATHS, &health);
    let unready = "[+]ping ok\n[+]leaderElection ok\n[+]api-discovery ok\n\
                   [-]informer-sync failed: reason withheld\n\
                   [-]sched-handler-sync failed: reason withheld\n[+]shutdown ok\n\
                   readyz check failed\n";
    let (status, headers, body) = get(&site, "/readyz", "").await;
    assert_eq!((status, &*body), (StatusCode::INTERNAL_SERVER_ERROR, unready));
    assert_eq!(headers[CONTENT_TYPE], "text/plain; charset=utf-8");
    assert_eq!(get(&site, "/readyz", "Bearer wrong").await.2, unready, "nobody is looked up");
    let (status, _, body) = get(&site, "/readyz/informer-sync", "").await;
    let withheld = "internal server error: reason withheld\n";
    assert_eq!((status, &*body), (StatusCode::INTERNAL_SERVER_ERROR, withheld));
    assert_eq!(api.reviews(), (0, 0));
    let (_, _, body) = get(&site, "/readyz/informer-sync", "Bearer scraper").await;
    assert_eq!(body, "internal server error: not listed yet: anything\n");
    let (status, ..) = get(&site, "/readyz/informer-sync", "Bearer wrong").await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    health.set_synced();
    for path in ["/livez", "/readyz", "/healthz", "/livez/ping", "/readyz/informer-sync"] {
        let (status, _, body) = get(&site, path, "").await;
        assert_eq!((status, &*body), (StatusCode::OK, "ok"), "{path}");
    }
}

#[tokio::test]
async fn the_list_decides_what_is_open() {
    let api = Arc::new(Api::default());
    let health = Arc::new(Health::new(|| true));
    let closed = site(&api, &[], &health);
    for path in ["/livez", "/livez/ping", "/metrics"] {
        assert_eq!(get(&closed, path, "").await.0, StatusCode::UNAUTHORIZED, "{path}");
    }
    let wide = site(&api, &["metrics", "/live*"], &health);
    for path in ["/metrics", "/livez", "/livez/ping"] {
        assert_eq!(get(&wide, path, "").await.0, StatusCode::OK, "{path}");
    }
    assert_eq!(get(&wide, "/healthz", "").await.0, StatusCode::UNAUTHORIZED);
    let error = OpenPaths::new(&["/a*b".to_owned()]).err().expect("an error").to_string();
    let expected = "--authorization-always-allow-paths: expected paths with a \"*\" only at their \
                    end, found \"a*b\"";
    assert_eq!(error, expected);
}

#[tokio::test]
async fn nothing_else_is_served() {
    let api = Arc::new(Api::default());
    let site = site(&api, &["*"], &Arc::new(Health::new(|| true)));
    let paths = [
        "/",
        "/metrics/",
        "/metrics/slis",
        "/Metrics",
        "/livez/",
        "/livez/shutdown",
        "/livez/ping/",
    ];
    for path in paths.into_iter().chain(["//metrics", "/debug/pprof", "/%6detrics"]) {
        assert_eq!(get(&site, path, "").await.0, StatusCode::NOT_FOUND, "{path}");
    }
    for method in [Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS] {
        let request = Request::builder().method(&method).uri("/livez").body(()).expect("valid");
        let answer = site.answer(&request).await;
        assert_eq!(answer.status(), StatusCode::METHOD_NOT_ALLOWED, "{method}");
        assert_eq!(answer.headers()[ALLOW], "GET, HEAD");
    }
}
