//! What an analysis says: requests, hops, calls, the path, the ledger. Field order and names are
//! the JSON of `README.md`'s "JSON" section; times are nanoseconds here, milliseconds there.

use serde::ser::{Serialize as _, Serializer};
use serde_json::Number;

use super::{Finding, Nanos, Note, Reason, SpanId, Text, TraceId, UnixNanos};

/// The analysis of one trace: its requests, the earliest first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Analysis {
    /// The trace.
    pub trace_id: TraceId,
    /// One per root (and per orphan and per asynchronous hand-over), ordered by start, then by id.
    pub requests: Vec<Request>,
    /// The analysis broke off, which is a fault of Dwindle; the spans belong to no request then.
    pub failed: bool,
}

/// One root of a trace and everything under it that the root waits for.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Request {
    /// The trace.
    pub trace_id: TraceId,
    /// The span id of the root hop's entry; with `trace_id` the request's identity.
    pub request: SpanId,
    /// 1 for the first verdict; one more each time that late spans changed the trace.
    pub revision: u32,
    /// False when a span names a parent that never came.
    pub complete: bool,
    /// What qualifies the numbers.
    pub notes: Vec<Note>,
    /// The root hop's service.
    pub service: Text,
    /// The root hop's operation.
    pub operation: Text,
    /// The root hop's arrival on its own clock.
    pub start: UnixNanos,
    /// Distinct spans in the request.
    pub spans: usize,
    /// From the root's arrival to its answer.
    #[serde(rename = "elapsed_ms")]
    pub elapsed: Nanos,
    /// What the root had on arrival; a CLIENT root's is the timeout that it set.
    #[serde(rename = "budget_ms")]
    pub budget: Option<Nanos>,
    /// Where the budget was read.
    pub budget_source: Source,
    /// What became of it.
    pub outcome: Outcome,
    /// Sum of its hops' wasted work.
    #[serde(rename = "wasted_ms")]
    pub wasted: Nanos,
    /// Where the failure came to light; `None` if nothing failed.
    pub surfaced: Option<Surfaced>,
    /// Who took the most of the budget; `None` if the request was met.
    pub culprit: Option<Culprit>,
    /// Its hops in depth-first order of start; a hop's `id` is its index.
    pub hops: Vec<Hop>,
    /// Who held the clock, in time order, without gaps from 0 to `elapsed`.
    pub path: Vec<PathSegment>,
    /// The path merged per (hop, part, to), in time order.
    pub ledger: Vec<LedgerRow>,
    /// What is wrong, worst first.
    pub findings: Vec<Finding>,
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The root's caller left.
    Cancelled,
    /// A timeout or a deadline failed the root, or it answered late.
    Missed,
    /// Another error.
    Failed,
    /// No budget is known: neither met nor missed.
    NoBudget,
    /// Answered in time.
    Met,
}

impl Outcome {
    /// Every outcome, the worst first.
    pub const ALL: [Self; 5] = [
        Self::Missed,
        Self::Failed,
        Self::Cancelled,
        Self::NoBudget,
        Self::Met,
    ];

    /// The word in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::Missed => "missed",
            Self::Failed => "failed",
            Self::NoBudget => "no_budget",
            Self::Met => "met",
        }
    }
}

/// How a hop or a call ended, seen from its deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// No error, and in time.
    Ok,
    /// Another error, before the deadline.
    Failed,
    /// Less than min useful was left on arrival.
    ExpiredOnArrival,
    /// A call that began with nothing left.
    ExpiredBeforeSend,
    /// Stopped before its own deadline because the caller left.
    CancelledByCaller,
    /// Ended by a timeout shorter than its budget.
    TimedOutEarly,
    /// Failed by deadline and took the most time itself.
    ExceededHere,
    /// Failed by deadline while one call below took more.
    ExceededDownstream,
    /// Answered without error after the deadline.
    FinishedLate,
}

impl Verdict {
    /// Every verdict, the most blameworthy first.
    pub const ALL: [Self; 9] = [
        Self::ExceededHere,
        Self::ExpiredOnArrival,
        Self::ExpiredBeforeSend,
        Self::TimedOutEarly,
        Self::ExceededDownstream,
        Self::FinishedLate,
        Self::CancelledByCaller,
        Self::Failed,
        Self::Ok,
    ];

    /// The word in JSON and in `deadline.outcome`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::ExpiredOnArrival => "expired_on_arrival",
            Self::ExpiredBeforeSend => "expired_before_send",
            Self::CancelledByCaller => "cancelled_by_caller",
            Self::TimedOutEarly => "timed_out_early",
            Self::ExceededHere => "exceeded_here",
            Self::ExceededDownstream => "exceeded_downstream",
            Self::FinishedLate => "finished_late",
        }
    }

    /// The word for people: spaces for underscores.
    pub fn words(self) -> String {
        self.as_str().replace('_', " ")
    }
}

/// How a budget is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// The hop's own telemetry says so.
    Observed,
    /// The caller's telemetry on that call says what it sent.
    Sent,
    /// What the caller would still wait: the deadline was not passed on, but it binds.
    Inherited,
    /// A route's objective from the configuration.
    Configured,
    /// From the length of a call that timed out.
    Inferred,
    /// It is not.
    #[default]
    None,
}

impl How {
    /// Every way, the most trusted first.
    pub const ALL: [Self; 6] = [
        Self::Observed,
        Self::Sent,
        Self::Inherited,
        Self::Configured,
        Self::Inferred,
        Self::None,
    ];

    /// The word in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Observed => "observed",
            Self::Sent => "sent",
            Self::Inherited => "inherited",
            Self::Configured => "configured",
            Self::Inferred => "inferred",
            Self::None => "none",
        }
    }

    /// True if the deadline was passed on to the hop.
    pub fn is_propagated(self) -> bool {
        matches!(self, Self::Observed | Self::Sent)
    }
}

/// Where a budget was read.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize)]
pub struct Source {
    /// By which way it is known.
    pub how: How,
    /// The attribute key, header or text that it was read from.
    pub key: Option<Text>,
    /// The span that carried it.
    pub span_id: Option<SpanId>,
    /// What stood there.
    pub value: Option<Text>,
}

impl Source {
    /// Known by this way, with nothing to point at.
    pub fn of(how: How) -> Self {
        Self {
            how,
            ..Self::default()
        }
    }
}

/// One service handling one inbound request.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Hop {
    /// Its index in `Request::hops`; 0 is the root.
    pub id: usize,
    /// The calling hop.
    pub parent: Option<usize>,
    /// Hops above it.
    pub depth: usize,
    /// The service.
    pub service: Text,
    /// The entry span's name.
    pub operation: Text,
    /// The entry span.
    pub span_id: SpanId,
    /// Arrival, aligned to the root's clock, from the request's start.
    #[serde(rename = "start_ms")]
    pub start: Nanos,
    /// From arrival to answer.
    #[serde(rename = "elapsed_ms")]
    pub elapsed: Nanos,
    /// The budget that it was told (or that binds it) on arrival; negative when late.
    #[serde(rename = "remaining_in_ms")]
    pub remaining_in: Option<Nanos>,
    /// Where that was read.
    pub remaining_in_source: Source,
    /// The effective deadline, from the request's start: the earliest of its own and its callers'.
    #[serde(rename = "deadline_ms")]
    pub deadline: Option<Nanos>,
    /// The hop that set the effective deadline.
    pub deadline_from: Option<usize>,
    /// Its own deadline, arrival + `remaining_in`, from the request's start.
    #[serde(rename = "own_deadline_ms")]
    pub own_deadline: Option<Nanos>,
    /// Time that it spent itself, not waiting for a call.
    #[serde(rename = "local_ms")]
    pub local: Nanos,
    /// Whether the hop said so or Dwindle computed it.
    pub local_source: LocalSource,
    /// What Dwindle computed, also where the hop said something else.
    #[serde(rename = "local_computed_ms")]
    pub local_computed: Nanos,
    /// How long it waited before work: what it said, until a `dequeued` event, or until an inner
    /// SERVER layer began. `None` where nothing tells.
    #[serde(rename = "queue_ms")]
    pub queue: Option<Nanos>,
    /// What was added to the hop's clock to bring it to the root's.
    #[serde(rename = "clock_offset_ms")]
    pub clock_offset: Nanos,
    /// The feasible offsets that the calls allow, least and greatest; `null` for "no bound".
    #[serde(rename = "clock_interval_ms")]
    pub clock_interval: Option<(Option<Nanos>, Option<Nanos>)>,
    /// How it ended.
    pub verdict: Verdict,
    /// The call that took more than the hop itself, with `exceeded_downstream`.
    pub verdict_call: Option<SpanId>,
    /// Who gave up, where a deadline or a cancellation ended it.
    pub reason: Option<Reason>,
    /// What on the hop's own spans says so, as a key and its value; `None` where a call or the
    /// time alone tells.
    pub evidence: Option<Text>,
    /// What the hop itself said in `deadline.outcome`.
    pub reported: Option<Text>,
    /// Run time for nobody.
    #[serde(rename = "wasted_ms")]
    pub wasted: Nanos,
    /// Requests that it started and did not wait for.
    pub handed_over: Vec<HandedOver>,
    /// Its outbound calls in order of start.
    pub calls: Vec<Call>,
    /// Indices of its spans in the analysed trace, the entry first, then by start.
    #[serde(skip)]
    pub spans: Vec<u32>,
}

/// Who says how much time a hop spent itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LocalSource {
    /// The hop, in `deadline.local_ms`.
    Observed,
    /// Dwindle: the hop's time less the union of its calls.
    Computed,
}

impl LocalSource {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Observed, Self::Computed];

    /// The word in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Observed => "observed",
            Self::Computed => "computed",
        }
    }
}

/// One outbound attempt of a hop.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Call {
    /// The CLIENT or PRODUCER span; the callee's entry if there is no such span.
    pub span_id: SpanId,
    /// The callee: a service, or the name of a dependency.
    pub to: Text,
    /// What was asked of it.
    pub operation: Text,
    /// What the far side is.
    pub kind: CallKind,
    /// The hop on the far side.
    pub hop: Option<usize>,
    /// 1 for the first attempt.
    pub attempt: u32,
    /// How many attempts the same call had.
    pub attempts: u32,
    /// When it began, aligned, from the request's start.
    #[serde(rename = "start_ms")]
    pub start: Nanos,
    /// How long the caller was in it.
    #[serde(rename = "elapsed_ms")]
    pub elapsed: Nanos,
    /// The budget that was passed on, by the caller's telemetry or else the callee's.
    #[serde(rename = "remaining_out_ms")]
    pub remaining_out: Option<Nanos>,
    /// Where that was read: `sent` by the caller, `observed` by the callee.
    pub remaining_out_source: Source,
    /// The timeout that the caller chose for this wait.
    #[serde(rename = "timeout_ms")]
    pub timeout: Option<Nanos>,
    /// Where that was read.
    pub timeout_source: Source,
    /// From the call's start to the callee's arrival.
    #[serde(rename = "transit_out_ms")]
    pub transit_out: Option<Nanos>,
    /// From the callee's answer to the call's end; `None` if the call did not wait for it.
    #[serde(rename = "transit_back_ms")]
    pub transit_back: Option<Nanos>,
    /// False for a call that its hop did not wait for.
    pub waited: bool,
    /// How it ended.
    pub verdict: Verdict,
}

/// What is on the far side of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    /// A hop that left spans.
    Hop,
    /// Something that leaves none: a database, a third party.
    Dependency,
    /// A service that should have left spans and did not: hung, killed or unsampled.
    Unreported,
    /// A message queue; nobody waits for what is behind it.
    Producer,
}

impl CallKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [
        Self::Hop,
        Self::Dependency,
        Self::Unreported,
        Self::Producer,
    ];

    /// The word in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hop => "hop",
            Self::Dependency => "dependency",
            Self::Unreported => "unreported",
            Self::Producer => "producer",
        }
    }
}

/// A request that a hop started and did not wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct HandedOver {
    /// Its trace.
    pub trace_id: TraceId,
    /// Its root entry span.
    pub request: SpanId,
}

/// What a nanosecond of the path was spent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The hop's own work.
    Local,
    /// From the call to the callee's arrival.
    TransitOut,
    /// From the callee's answer to the call's end.
    TransitBack,
    /// Waiting for something that leaves no spans.
    Dependency,
    /// Waiting for a service that left no spans.
    Unreported,
    /// Waiting between two attempts of one call.
    Backoff,
}

impl Part {
    /// Every part.
    pub const ALL: [Self; 6] = [
        Self::Local,
        Self::TransitOut,
        Self::TransitBack,
        Self::Dependency,
        Self::Unreported,
        Self::Backoff,
    ];

    /// The word in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::TransitOut => "transit_out",
            Self::TransitBack => "transit_back",
            Self::Dependency => "dependency",
            Self::Unreported => "unreported",
            Self::Backoff => "backoff",
        }
    }
}

/// A stretch of the request's time with one owner.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct PathSegment {
    /// The hop that owns it; for anything but `local` the calling hop.
    pub hop: usize,
    /// What it was spent on.
    pub part: Part,
    /// The callee, unless `local`.
    pub to: Option<Text>,
    /// From the request's start.
    #[serde(rename = "start_ms")]
    pub start: Nanos,
    /// From the request's start.
    #[serde(rename = "end_ms")]
    pub end: Nanos,
}

/// All stretches of one (hop, part, to).
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct LedgerRow {
    /// The hop that owns it.
    pub hop: usize,
    /// That hop's service.
    pub service: Text,
    /// That hop's operation.
    pub operation: Text,
    /// What it was spent on.
    pub part: Part,
    /// The callee, unless `local`.
    pub to: Option<Text>,
    /// The whole.
    #[serde(rename = "ms")]
    pub time: Nanos,
    /// How much of it lies after the request's deadline.
    #[serde(rename = "after_deadline_ms")]
    pub after_deadline: Nanos,
}

/// Where a failure came to light.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Surfaced {
    /// The hop's service.
    pub service: Text,
    /// Its operation.
    pub operation: Text,
    /// Its verdict.
    pub verdict: Verdict,
    /// Its id.
    pub hop: usize,
}

/// Who took the most of the budget before the deadline.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Culprit {
    /// The owner's service.
    pub service: Text,
    /// The owner's operation.
    pub operation: Text,
    /// What it was spent on.
    pub part: Part,
    /// The callee, unless `local`.
    pub to: Option<Text>,
    /// How much.
    #[serde(rename = "consumed_ms")]
    pub consumed: Nanos,
    /// Of the budget; without one, of the elapsed time.
    #[serde(serialize_with = "share")]
    pub share: (Nanos, Nanos),
    /// The median of successful runs of the same.
    #[serde(rename = "typical_ms")]
    pub typical: Option<Nanos>,
    /// `consumed` less `typical`.
    #[serde(rename = "excess_ms")]
    pub excess: Option<Nanos>,
}

/// A part of a whole as a number from 0 to 1 with at most six decimals; 0 of nothing is 0.
pub(crate) fn share<S: Serializer>(
    &(part, whole): &(Nanos, Nanos),
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let millionths = Nanos(1_000_000).scaled(part.0, whole.0).0;
    Number::from_f64(millionths as f64 / 1e6).serialize(serializer)
}
