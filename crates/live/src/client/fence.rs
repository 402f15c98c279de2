//! Connections that send only while this replica has the right to.
//!
//! A request passes through several queues between the decision to send it and the socket, and a
//! process can be frozen in any of them. So the right is asked for where nothing comes after but
//! the kernel: a process that thaws after its lease has passed on finds every write refused.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};

use crate::lease::Leadership;

/// A connection, and the right without which nothing is sent over it.
pub(super) struct Fenced<C> {
    connection: C,
    /// Nothing for connections that are open to everybody.
    right: Option<Leadership>,
}

impl<C> Fenced<C> {
    pub(super) fn new(connection: C, right: Option<Leadership>) -> Self {
        Self { connection, right }
    }

    fn check(&self) -> io::Result<()> {
        match &self.right {
            Some(right) if !right.may_bind(Instant::now()) => {
                let text = "the right to bind has ended";
                Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
            }
            Some(_) | None => Ok(()),
        }
    }
}

impl<C: Read + Unpin> Read for Fenced<C> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_read(context, buffer)
    }
}

impl<C: Write + Unpin> Write for Fenced<C> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        Pin::new(&mut self.connection).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        Pin::new(&mut self.connection).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.connection.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_shutdown(context)
    }
}

impl<C: Connection> Connection for Fenced<C> {
    fn connected(&self) -> Connected {
        self.connection.connected()
    }
}

#[cfg(test)]
mod tests {
    use hyper_util::rt::TokioIo;
    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[tokio::test]
    async fn nothing_is_sent_without_the_right() {
        for (right, is_open) in
            [(None, true), (Some(Leadership::always()), true), (Some(Leadership::none()), false)]
        {
            let (ours, mut theirs) = tokio::io::duplex(64);
            let mut fenced = Fenced::new(TokioIo::new(ours), right);
            let written = std::future::poll_fn(|context| {
                let pieces = [io::IoSlice::new(b"bind")];
                let first = Pin::new(&mut fenced).poll_write_vectored(context, &pieces);
                let second = Pin::new(&mut fenced).poll_write(context, b"bind");
                assert_eq!(first.map(|written| written.is_ok()), Poll::Ready(is_open));
                second
            });
            assert_eq!(written.await.is_ok(), is_open);
            drop(fenced);
            let mut arrived = String::new();
            theirs.read_to_string(&mut arrived).await.unwrap();
            assert_eq!(arrived, if is_open { "bindbind" } else { "" });
        }
    }
}
