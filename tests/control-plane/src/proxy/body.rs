//! Bodies as they pass.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body, Frame, Incoming, SizeHint};

use super::line::Shared;

/// A body, wherever it comes from.
pub(super) type AnyBody = BoxBody<Bytes, hyper::Error>;

/// What a server that forgot a resource version says, in JSON and in protobuf.
const EXPIRED: &[u8] = b"too old resource version";

pub(super) fn whole(bytes: impl Into<Bytes>) -> AnyBody {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed()
}

/// An exchange under way; it is over when this is dropped.
pub(super) struct Open {
    shared: Arc<Shared>,
    index: usize,
}

impl Open {
    pub(super) fn of(shared: Arc<Shared>, index: usize) -> Self {
        Self { shared, index }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.shared.note(self.index, |exchange| exchange.is_open = false);
    }
}

/// An answer's body that is counted as it passes.
pub(super) struct Counted {
    inner: Incoming,
    open: Open,
    is_watch: bool,
}

impl Counted {
    pub(super) fn of(inner: Incoming, open: Open, is_watch: bool) -> Self {
        Self { inner, open, is_watch }
    }
}

impl Body for Counted {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = Pin::new(&mut self.inner).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &frame
            && let Some(bytes) = frame.data_ref()
        {
            // The refusal is the first event of a watch, small enough to come in one piece.
            let is_expired = self.is_watch && contains(bytes, EXPIRED);
            self.open.shared.note(self.open.index, |exchange| {
                exchange.bytes += bytes.len() as u64;
                exchange.is_expired |= is_expired;
            });
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
