//! One HTTP request over one connection: for health, metrics and etcd.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

const WITHIN: Duration = Duration::from_secs(10);

/// What a server answered.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status code.
    pub code: u16,
    /// The `Content-Type` header.
    pub content_type: String,
    /// The whole body.
    pub body: String,
}

/// GET over TLS, whoever the server is.
pub(crate) async fn get_tls(port: u16, path: &str, token: Option<&str>) -> Result<Answer> {
    let mut request = Request::get(path).header("host", format!("127.0.0.1:{port}"));
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let request = request.body(Full::default())?;
    let exchange = async { send(tls(port).await?, request).await };
    let what = || format!("GET https://127.0.0.1:{port}{path}");
    timeout(WITHIN, exchange).await.with_context(what)?.with_context(what)
}

/// POST of JSON without TLS.
pub(crate) async fn post(port: u16, path: &str, body: String) -> Result<Answer> {
    let request = Request::builder()
        .method(Method::POST)
        .uri(path)
        .header("host", format!("127.0.0.1:{port}"))
        .header("content-type", "application/json")
        .body(Full::from(body))?;
    let exchange = async { send(tcp(port).await?, request).await };
    let what = || format!("POST http://127.0.0.1:{port}{path}");
    timeout(WITHIN, exchange).await.with_context(what)?.with_context(what)
}

/// A connection over TLS to a port of loopback, whoever listens there.
pub(crate) async fn tls(port: u16) -> Result<TlsStream<TcpStream>> {
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anyone(provider)))
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").expect("it is a name");
    Ok(TlsConnector::from(Arc::new(config)).connect(name, tcp(port).await?).await?)
}

async fn tcp(port: u16) -> Result<TcpStream> {
    let stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

async fn send<S>(stream: S, request: Request<Full<Bytes>>) -> Result<Answer>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let response = sender.send_request(request).await?;
    let content_type = response.headers().get("content-type");
    let content_type = content_type.and_then(|v| v.to_str().ok()).unwrap_or_default().to_owned();
    let code = response.status().as_u16();
    let body = response.into_body().collect().await?.to_bytes();
    connection.abort();
    Ok(Answer { code, content_type, body: String::from_utf8_lossy(&body).into_owned() })
}

/// Accepts every certificate: the servers are on loopback and make their own.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
