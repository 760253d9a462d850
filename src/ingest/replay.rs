//! Bringing back what the log holds, at the start.
//!
//! Memory stays under the ceilings: when they are reached, traces are sealed, analysed and flushed
//! before the next record is read. What is in the tables already is found to be a copy and changes
//! nothing. A record that is damaged is told and costs itself alone.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Shared;
use super::batch::Batch;
use super::log::{Kind, Record, Replay, Replayed};
use crate::otlp::{self, Limits};

/// Brings back all records, or as many as there is time for until the server stops.
pub(super) fn run(shared: &Shared, replay: Replay, end: u64) {
    if replay.records > 0 {
        tracing::info!(replay.records, "replaying the log");
    }
    let before = shared.telemetry.spans_replayed.get();
    for item in replay {
        let ended = match item {
            Replayed::Record(seq, record) => !record_again(shared, seq, &record),
            Replayed::Missing(records) => {
                shared.telemetry.log_damages.inc();
                tracing::error!(
                    records,
                    "segments of the log are not there; what they held is lost, all else is replayed"
                );
                false
            }
            Replayed::Damage(damage) => {
                shared.telemetry.log_damages.inc();
                tracing::error!(
                    %damage,
                    "the log is damaged; what those bytes held is lost, all else is replayed"
                );
                false
            }
        };
        if ended || shared.closing.load(Ordering::Acquire) {
            return;
        }
    }
    shared.lock().pushed_below(end);
    let spans = shared.telemetry.spans_replayed.get() - before;
    if spans > 0 {
        tracing::info!(spans, "replayed the log");
    }
    shared.replaying.store(false, Ordering::Release);
    shared.telemetry.set_replaying(false);
}

/// Puts a record into the assembly; false if the server stopped before there was room.
fn record_again(shared: &Shared, seq: u64, record: &Record) -> bool {
    // It was taken once, whatever the limits are now.
    let limits = Limits {
        max_message_bytes: usize::MAX,
        ..Limits::default()
    };
    let decoded = match record.kind {
        Kind::Traces => otlp::traces_from_proto(&record.bytes, &limits),
        Kind::Logs => otlp::logs_from_proto(&record.bytes, &limits),
        Kind::Probe => return true,
    };
    let decoded = match decoded {
        Ok(decoded) => decoded,
        Err(error) => {
            shared.telemetry.log_damages.inc();
            tracing::error!(seq, %error, "a record of the log cannot be decoded");
            return true;
        }
    };
    let mut batch = Batch {
        spans: decoded.spans,
        logs: decoded.logs,
        ..Batch::default()
    };
    if !batch.spans.is_empty() {
        shared.store.clear_samples();
    }
    // The ceilings may be lower than when it was taken.
    loop {
        let (front, sizes) = batch.front(&shared.config);
        let is_last = batch.spans.is_empty() && batch.logs.is_empty();
        let below = if is_last { seq + 1 } else { seq };
        if !push(shared, front, &sizes, seq, below) {
            return false;
        }
        if is_last {
            return true;
        }
    }
}

/// Puts a part of a record into the assembly, after which all records below `below` are there.
fn push(shared: &Shared, batch: Batch, sizes: &[usize], seq: u64, below: u64) -> bool {
    let bytes = sizes.iter().sum();
    let mut assembly = shared.lock();
    loop {
        let now = (shared.clock)();
        match assembly.reserve(&batch.spans, &batch.logs, bytes, now) {
            Ok(room) => {
                let telemetry = &shared.telemetry;
                let received = shared.count(&batch);
                telemetry.spans_replayed.inc_by(received);
                telemetry.spans_open.inc_by(batch.spans.len() as i64);
                shared.push(&mut assembly, room, (batch.spans, batch.logs, sizes), seq);
                assembly.pushed_below(below);
                return true;
            }
            Err(_) if shared.closing.load(Ordering::Acquire) => return false,
            Err(_) => {
                assembly.seal_quietest();
                shared.changed.notify_all();
                shared.flush.kick();
                let waited = shared
                    .changed
                    .wait_timeout(assembly, Duration::from_millis(20));
                assembly = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }
}
