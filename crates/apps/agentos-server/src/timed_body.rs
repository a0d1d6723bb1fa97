//! The body of a request, with limits on its time and its size.
//!
//! Owns: the one timer of a body that has not ended. Never: reads a body that nobody reads.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::BoxError;
use axum::body::{Bytes, HttpBody};
use axum::extract::rejection::BytesRejection;
use axum::http::StatusCode;
use hyper::body::{Frame, SizeHint};
use tokio::time::{Sleep, sleep};

/// Largest body of a request: an answer of a model may be 10 MB.
pub const LARGEST_BODY: usize = 12 << 20;

/// Says why a body was not received.
pub fn describe_rejection(rejection: &BytesRejection) -> String {
    match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            let most = LARGEST_BODY >> 20;
            format!("the body is larger than {most} MiB")
        }
        _ => "the body did not arrive completely".to_owned(),
    }
}

/// Body that fails if it has not ended in time. The time begins when somebody waits for a piece of it.
pub struct TimedBody<B> {
    inner: B,
    limit: Duration,
    timer: Option<Pin<Box<Sleep>>>,
}

impl<B> TimedBody<B> {
    /// Limits the time of a body.
    pub fn new(inner: B, limit: Duration) -> Self {
        Self {
            inner,
            limit,
            timer: None,
        }
    }
}

impl<B> HttpBody for TimedBody<B>
where
    B: HttpBody<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.inner).poll_frame(context) {
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        // Most bodies come with their head, and need no timer.
        let limit = self.limit;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(limit)));
        timer.as_mut().poll(context).map(|()| {
            let late = io::Error::new(io::ErrorKind::TimedOut, "the body did not end in time");
            Some(Err(late.into()))
        })
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use axum::body::{Body, to_bytes};
    use futures_util::stream;

    use super::*;

    #[tokio::test]
    async fn a_body_that_does_not_end_fails_when_its_time_is_over() {
        let first = || Ok::<_, io::Error>(Bytes::from_static(b"begun"));
        let whole = Body::from_stream(stream::iter([first()]));
        let timed = |body| Body::new(TimedBody::new(body, Duration::ZERO));
        // What is there already needs no time.
        assert_eq!(to_bytes(timed(whole), 100).await.unwrap(), "begun");
        let endless = stream::unfold(true, |is_first| async move {
            match is_first {
                true => Some((Ok::<_, io::Error>(Bytes::from_static(b"begun")), false)),
                false => std::future::pending().await,
            }
        });
        let failed = to_bytes(timed(Body::from_stream(endless)), 100).await;
        assert!(failed.is_err(), "{failed:?}");
    }
}
