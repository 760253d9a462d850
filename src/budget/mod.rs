//! What the numbers mean: hops, clocks, deadlines, verdicts, the ledger, findings.
//!
//! ```text
//! spans ─► tree ─► hops, calls ─► clocks ─► timing ─► retries ─► verdicts ─► path, ledger ─► findings
//!          forest  conventions,   offsets   deadlines  attempts
//!                  evidence
//! ```
//!
//! **Invariant**: pure and total. [`analyse`] cannot fail, knows no clock and no environment, and
//! answers the same bytes for the same spans in any order. No recursion over spans, O(n log n).

#![deny(clippy::disallowed_types)]

mod clocks;
mod conventions;
mod culprit;
mod evidence;
mod facts;
mod findings;
mod hops;
mod known;
mod names;
mod path;
mod patterns;
mod policy;
mod quick;
mod reasons;
mod request;
mod retries;
mod sessions;
mod timing;
mod told;
mod tree;
mod verdict;
mod waits;

pub use conventions::{CustomRule, Field, Grammar, Listed, Place, RuleError, Rules};
pub use patterns::{Pattern, PatternError, Patterns};
pub use policy::{Policy, Share, Thresholds, Typical, TypicalTime};

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::model::{Analysis, Nanos, Trace};

/// Slack of every comparison of a deadline with a time: timers fire late, values are rounded.
const TOLERANCE: Nanos = Nanos::from_millis(2);

/// Whether two budgets are one as far as can be told: 2 ms or 1 % apart at most, for gRPC's
/// C-core rounds `grpc-timeout` up to three figures.
fn near(a: Nanos, b: Nanos) -> bool {
    (a - b).abs() <= tolerance(b)
}

/// The slack that a budget has: max(2 ms, 1 %).
fn tolerance(budget: Nanos) -> Nanos {
    TOLERANCE.max(budget.abs().scaled(1, 100))
}

/// What `work` says of a trace; if it panics, that it failed. [`analyse`] is total, and one trace
/// that shows otherwise must not end a server or cost its spans.
pub fn contained(trace: &Trace, work: impl FnOnce() -> Analysis) -> Analysis {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Analysis {
        trace_id: trace.id,
        requests: Vec::new(),
        failed: true,
    })
}

/// Analyses one trace. Bad data becomes notes on the result.
///
/// `typical` holds median times of other requests' runs, where they are known; without them the
/// rules that need them do not fire and the culprit is ranked by what it took.
pub fn analyse(trace: &Trace, policy: &Policy, typical: &Typical) -> Analysis {
    let forest = tree::Forest::build(trace, policy);
    let hops = hops::Hops::find(&forest, policy);
    let clocks = clocks::align(&forest, &hops);
    let timing = timing::Timing::find(&forest, &hops, &clocks, policy);
    let retries = retries::Retries::find(&forest, &hops, &timing);
    let (verdicts, call_verdicts) = request::verdicts(&forest, &hops, &timing, policy);
    request::requests(&known::Known {
        forest: &forest,
        hops: &hops,
        clocks: &clocks,
        timing: &timing,
        retries: &retries,
        policy,
        typical,
        verdicts: &verdicts,
        call_verdicts: &call_verdicts,
    })
}
