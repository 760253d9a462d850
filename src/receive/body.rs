//! Reading a request's body: capped, counted against all others, and not for ever.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::intake::Refusal;

/// How much of a body that is refused for its size is read and thrown away. Many clients send all
/// of it before they look at the answer, and would see a broken connection instead.
const DRAINED: usize = 256 << 20;

/// A body, and its part of what may be held at once.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) bytes: Bytes,
    _permit: Option<OwnedSemaphorePermit>,
}

/// Reads at most `cap` bytes within `within`.
pub(super) async fn read(
    mut body: Body,
    cap: usize,
    inflight: &Arc<Semaphore>,
    within: Duration,
) -> Result<Held, Refusal> {
    let all = async {
        match collect(&mut body, cap, inflight).await {
            Err(refusal @ (Refusal::TooLarge { .. } | Refusal::Full { .. })) => {
                drain(&mut body).await;
                Err(refusal)
            }
            result => result,
        }
    };
    timeout(within, all).await.unwrap_or(Err(Refusal::TooSlow))
}

async fn collect(body: &mut Body, cap: usize, inflight: &Arc<Semaphore>) -> Result<Held, Refusal> {
    // An announced size is only believed when it is too large.
    let announced = http_body::Body::size_hint(body).lower();
    if announced > cap as u64 {
        return Err(Refusal::TooLarge { limit: cap });
    }
    let mut first: Option<Bytes> = None;
    let mut joined = BytesMut::new();
    let mut permit: Option<OwnedSemaphorePermit> = None;
    let mut total = 0usize;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Refusal::Gone)?.into_data() else {
            continue; // Trailers say nothing here.
        };
        if data.is_empty() {
            continue;
        }
        total = total.saturating_add(data.len());
        if total > cap {
            return Err(Refusal::TooLarge { limit: cap });
        }
        let more = u32::try_from(data.len())
            .ok()
            .and_then(|bytes| Arc::clone(inflight).try_acquire_many_owned(bytes).ok())
            .ok_or(Refusal::busy())?;
        match &mut permit {
            Some(permit) => permit.merge(more),
            None => permit = Some(more),
        }
        // Most bodies are one frame, which then need not be copied.
        if first.is_none() && joined.is_empty() {
            first = Some(data);
        } else {
            if let Some(first) = first.take() {
                joined.extend_from_slice(&first);
            }
            joined.extend_from_slice(&data);
        }
    }
    Ok(Held {
        bytes: first.unwrap_or_else(|| joined.freeze()),
        _permit: permit,
    })
}

async fn drain(body: &mut Body) {
    let mut drained = 0usize;
    while let Some(Ok(frame)) = body.frame().await {
        drained += frame.data_ref().map_or(0, Bytes::len);
        if drained > DRAINED {
            return;
        }
    }
}
