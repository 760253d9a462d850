//! The table of fields: names, types, what they mean and how they are read.

use crate::model::{
    Call, CallKind, Finding, Hop, How, LedgerRow, LocalSource, Nanos, Note, Outcome, Part, Request,
    Rule, Severity, Text, UnixNanos, Verdict,
};

/// A name that a filter can ask for.
#[derive(Debug)]
pub struct Field {
    /// The name: the JSON key without `_ms`, after its object's name.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// Whether it may be unknown.
    pub nullable: bool,
    /// What it means, in a few words.
    pub doc: &'static str,
    /// The column that holds it, of the table of what it is [of](Self::of). A share has the column
    /// of its whole or of its quotient, an object one that is null with it.
    pub(super) column: &'static str,
    pub(super) read: Read,
}

impl PartialEq for Field {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// What a field holds, and so what it can be compared with.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// Hex digits; `=` takes the beginning.
    Id,
    /// A text.
    Text,
    /// One of these words.
    Word(fn() -> Vec<&'static str>),
    /// A duration.
    Time,
    /// A whole number.
    Count,
    /// A part of a whole, in per cent.
    Share,
    /// True or false.
    Flag,
    /// An instant.
    Instant,
    /// An object of which only its presence is compared.
    Object,
}

impl Kind {
    /// The type in a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Text => "text",
            Self::Word(_) => "word",
            Self::Time => "duration",
            Self::Count => "number",
            Self::Share => "percent",
            Self::Flag => "true/false",
            Self::Instant => "instant",
            Self::Object => "object",
        }
    }

    /// The words that the field may be; none for other types.
    pub fn words(self) -> Vec<&'static str> {
        match self {
            Self::Word(words) => words(),
            _ => Vec::new(),
        }
    }
}

/// What a field is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Of {
    /// The request: it has one value.
    Request,
    /// A note: any of the request's.
    Note,
    /// A hop: any of the request's.
    Hop,
    /// A call: any of the request's.
    Call,
    /// A row of the ledger: any of the request's.
    Ledger,
    /// A finding: any of the request's.
    Finding,
}

impl Of {
    /// What there may be several of in a request, by the first part of its fields' names.
    const GROUPS: [(Self, &str); 4] = [
        (Self::Hop, "hop"),
        (Self::Call, "call"),
        (Self::Ledger, "ledger"),
        (Self::Finding, "finding"),
    ];

    /// That of this name.
    pub(super) fn group(name: &str) -> Option<Self> {
        let mut groups = Self::GROUPS.iter();
        groups.find(|(_, known)| *known == name).map(|(of, _)| *of)
    }

    /// Its name; empty of what a request has one of.
    pub(super) fn prefix(self) -> &'static str {
        let known = Self::GROUPS.iter().find(|(of, _)| *of == self);
        known.map_or("", |(_, name)| name)
    }
}

/// How a field is read.
#[derive(Debug, Clone, Copy)]
pub(super) enum Read {
    Request(fn(&Request) -> Value<'_>),
    Note(fn(&Note) -> Value<'_>),
    Hop(fn(&Hop) -> Value<'_>),
    Call(for<'a> fn(&'a Hop, &'a Call) -> Value<'a>),
    Ledger(fn(&LedgerRow) -> Value<'_>),
    Finding(fn(&Finding) -> Value<'_>),
}

/// What was read.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    /// It is not known.
    Null,
    /// The bytes of an id.
    Id(&'a [u8]),
    /// A text or a word.
    Text(&'a str),
    /// A text that was made for this.
    Made(String),
    /// A duration.
    Time(Nanos),
    /// A number.
    Count(i64),
    /// A part of a whole in millionths.
    Share(i64),
    /// True or false.
    Flag(bool),
    /// An instant.
    Instant(UnixNanos),
    /// Something that is there.
    Object,
}

impl Field {
    /// Its name where it is clear what it is of: without the first part.
    pub(super) fn short(&self) -> &'static str {
        let prefix = self.of().prefix();
        let rest = self.name.strip_prefix(prefix);
        rest.and_then(|rest| rest.strip_prefix('.'))
            .unwrap_or(self.name)
    }

    /// What the field is of.
    pub fn of(&self) -> Of {
        match self.read {
            Read::Request(_) => Of::Request,
            Read::Note(_) => Of::Note,
            Read::Hop(_) => Of::Hop,
            Read::Call(_) => Of::Call,
            Read::Ledger(_) => Of::Ledger,
            Read::Finding(_) => Of::Finding,
        }
    }

    /// The request's value; `None` for a field that has many.
    pub fn value<'a>(&self, request: &'a Request) -> Option<Value<'a>> {
        match self.read {
            Read::Request(read) => Some(read(request)),
            _ => None,
        }
    }
}

/// All fields, in the order of the help.
pub fn fields() -> &'static [Field] {
    FIELDS
}

/// The field with this name.
pub fn field(name: &str) -> Option<&'static Field> {
    FIELDS.iter().find(|field| field.name == name)
}

/// The rules of the language, a sentence or two each.
pub const SYNTAX: &[(&str, &str)] = &[
    (
        "outcome=missed and wasted > 200ms",
        "A comparison is a field, one of = != < <= > >= ~ and a value. `and` binds tighter than `or`; `not` binds tightest; parentheses group.",
    ),
    (
        "hop.verdict=expired_on_arrival",
        "`hop.`, `call.`, `ledger.`, `finding.` and `notes` hold when any of the request's has it; two such conditions may be about two different hops.",
    ),
    (
        "finding(rule=not_propagated and service=edge)",
        "`hop( )`, `call( )`, `ledger( )` and `finding( )` ask for one of which all in the parentheses holds.",
    ),
    (
        "elapsed > 1.5s or used > 90%",
        "A duration has a unit: ns, us, ms, s, m, h or d. It is compared as it is printed, to the microsecond. A share is in per cent; `used` is elapsed \u{f7} budget.",
    ),
    (
        "operation = \"POST /orders\"",
        "A text with blanks or any of ( ) = ! < > ~ is put in single or double quotation marks. Case counts.",
    ),
    (
        "service ~ ^pay",
        "`~` looks for a regular expression anywhere in the text; `(?i)` in front ignores case.",
    ),
    ("trace_id = 4bf92f", "An id is matched by its beginning."),
    (
        "start > -15m",
        "An instant is RFC 3339, a date (UTC), or counts back from now.",
    ),
    (
        "budget = null",
        "What is unknown is null. It satisfies no comparison but `= null`, not even `!=`; `not culprit.service=pricing` includes requests without a culprit.",
    ),
];

fn share(part: Nanos, whole: Nanos) -> Value<'static> {
    let Nanos(millionths) = Nanos(1_000_000).scaled(part.0, whole.0);
    Value::Share(millionths)
}

fn words<T: Copy, const N: usize>(all: [T; N], word: fn(T) -> &'static str) -> Vec<&'static str> {
    all.into_iter().map(word).collect()
}

fn object<T>(there: Option<&T>) -> Value<'static> {
    there.map_or(Value::Null, |_| Value::Object)
}

const OUTCOME: Kind = Kind::Word(|| words(Outcome::ALL, Outcome::as_str));
const VERDICT: Kind = Kind::Word(|| words(Verdict::ALL, Verdict::as_str));
const HOW: Kind = Kind::Word(|| words(How::ALL, How::as_str));
const PART: Kind = Kind::Word(|| words(Part::ALL, Part::as_str));
const CALL_KIND: Kind = Kind::Word(|| words(CallKind::ALL, CallKind::as_str));
const LOCAL_SOURCE: Kind = Kind::Word(|| words(LocalSource::ALL, LocalSource::as_str));
const SEVERITY: Kind = Kind::Word(|| words(Severity::ALL, Severity::as_str));
const RULE: Kind = Kind::Word(|| Rule::ALL.iter().map(|rule| rule.as_str()).collect());

/// A line a field: of what, its name, its column in the tables, its type, whether it may be null, its
/// meaning, its value.
macro_rules! table {
    ($($of:ident($($it:ident),+) $name:literal in $column:literal $kind:ident $(($words:expr))? $null:literal $doc:literal $value:expr;)*) => {
        const FIELDS: &[Field] = &[$(Field {
            name: $name,
            kind: table!(@kind $kind $($words)?),
            nullable: $null,
            doc: $doc,
            column: $column,
            read: Read::$of(|$($it),+| Value::from($value)),
        }),*];
    };
    (@kind Word $words:expr) => { $words };
    (@kind $kind:ident) => { Kind::$kind };
}

table! {
    Request(r) "trace_id" in "trace_id" Id false "the trace" &r.trace_id.0[..];
    Request(r) "request" in "request" Id false "the span id of the root hop's entry" &r.request.0[..];
    Request(r) "service" in "service" Text false "the root hop's service" &r.service;
    Request(r) "operation" in "operation" Text false "the root hop's operation" &r.operation;
    Request(r) "start" in "start" Instant false "when the root hop was reached" r.start;
    Request(r) "elapsed" in "elapsed_ms" Time false "from the root's arrival to its answer" r.elapsed;
    Request(r) "budget" in "budget_ms" Time true "what the root had on arrival" r.budget;
    Request(r) "used" in "budget_ms" Share true "elapsed \u{f7} budget" r.budget.filter(|budget| budget.0 > 0).map(|budget| share(r.elapsed, budget));
    Request(r) "budget_source.how" in "budget_source_how" Word(HOW) false "how the budget is known" r.budget_source.how.as_str();
    Request(r) "budget_source.key" in "budget_source_key" Text true "the attribute, header or text that it was read from" r.budget_source.key.as_ref();
    Request(r) "budget_source.span_id" in "budget_source_span_id" Id true "the span that carried it" r.budget_source.span_id.as_ref().map(|id| &id.0[..]);
    Request(r) "budget_source.value" in "budget_source_value" Text true "what stood there" r.budget_source.value.as_ref();
    Request(r) "outcome" in "outcome" Word(OUTCOME) false "what became of the request" r.outcome.as_str();
    Request(r) "wasted" in "wasted_ms" Time false "work after nobody waited for it, over all hops" r.wasted;
    Request(r) "culprit" in "culprit_service" Object true "who took the most of the budget; null if the request was met" object(r.culprit.as_ref());
    Request(r) "culprit.service" in "culprit_service" Text true "its service" r.culprit.as_ref().map(|c| &c.service);
    Request(r) "culprit.operation" in "culprit_operation" Text true "its operation" r.culprit.as_ref().map(|c| &c.operation);
    Request(r) "culprit.part" in "culprit_part" Word(PART) true "what it spent the time on" r.culprit.as_ref().map(|c| c.part.as_str());
    Request(r) "culprit.to" in "culprit_to" Text true "the callee, unless the part is local" r.culprit.as_ref().and_then(|c| c.to.as_ref());
    Request(r) "culprit.consumed" in "culprit_consumed_ms" Time true "how much it took" r.culprit.as_ref().map(|c| c.consumed);
    Request(r) "culprit.share" in "culprit_share" Share true "that of the budget; without one, of elapsed" r.culprit.as_ref().map(|c| share(c.share.0, c.share.1));
    Request(r) "culprit.typical" in "culprit_typical_ms" Time true "the median of successful runs of the same" r.culprit.as_ref().and_then(|c| c.typical);
    Request(r) "culprit.excess" in "culprit_excess_ms" Time true "consumed less typical" r.culprit.as_ref().and_then(|c| c.excess);
    Request(r) "surfaced" in "surfaced_service" Object true "where the failure came to light; null if nothing failed" object(r.surfaced.as_ref());
    Request(r) "surfaced.service" in "surfaced_service" Text true "the hop's service" r.surfaced.as_ref().map(|s| &s.service);
    Request(r) "surfaced.operation" in "surfaced_operation" Text true "its operation" r.surfaced.as_ref().map(|s| &s.operation);
    Request(r) "surfaced.verdict" in "surfaced_verdict" Word(VERDICT) true "its verdict" r.surfaced.as_ref().map(|s| s.verdict.as_str());
    Request(r) "surfaced.hop" in "surfaced_hop" Count true "its id" r.surfaced.as_ref().map(|s| s.hop);
    Request(r) "spans" in "spans" Count false "distinct spans" r.spans;
    Request(r) "complete" in "complete" Flag false "whether no span names a parent that never came" r.complete;
    Request(r) "revision" in "revision" Count false "how often late spans changed the trace, from 1" r.revision;
    Note(n) "notes" in "notes" Text false "what qualifies the numbers" Value::Made(n.to_string());

    Hop(h) "hop.service" in "service" Text false "its service" &h.service;
    Hop(h) "hop.operation" in "operation" Text false "its entry span's name" &h.operation;
    Hop(h) "hop.verdict" in "verdict" Word(VERDICT) false "how it ended" h.verdict.as_str();
    Hop(h) "hop.elapsed" in "elapsed_ms" Time false "from arrival to answer" h.elapsed;
    Hop(h) "hop.local" in "local_ms" Time false "time that it spent itself" h.local;
    Hop(h) "hop.local_source" in "local_source" Word(LOCAL_SOURCE) false "whether the hop said so" h.local_source.as_str();
    Hop(h) "hop.local_computed" in "local_computed_ms" Time false "what Dwindle computed" h.local_computed;
    Hop(h) "hop.queue" in "queue_ms" Time true "how long it waited before work" h.queue;
    Hop(h) "hop.remaining_in" in "remaining_in_ms" Time true "its budget on arrival; negative when late" h.remaining_in;
    Hop(h) "hop.remaining_in_source.how" in "remaining_in_source_how" Word(HOW) false "how that is known" h.remaining_in_source.how.as_str();
    Hop(h) "hop.remaining_in_source.key" in "remaining_in_source_key" Text true "the attribute, header or text that it was read from" h.remaining_in_source.key.as_ref();
    Hop(h) "hop.remaining_in_source.span_id" in "remaining_in_source_span_id" Id true "the span that carried it" h.remaining_in_source.span_id.as_ref().map(|id| &id.0[..]);
    Hop(h) "hop.remaining_in_source.value" in "remaining_in_source_value" Text true "what stood there" h.remaining_in_source.value.as_ref();
    Hop(h) "hop.wasted" in "wasted_ms" Time false "run time for nobody" h.wasted;
    Hop(h) "hop.reported" in "reported" Text true "what it said in deadline.outcome" h.reported.as_ref();
    Hop(h) "hop.deadline" in "deadline_ms" Time true "its effective deadline, from the request's start" h.deadline;
    Hop(h) "hop.deadline_from" in "deadline_from" Count true "the id of the hop that set it" h.deadline_from;
    Hop(h) "hop.own_deadline" in "own_deadline_ms" Time true "arrival + remaining_in, from the request's start" h.own_deadline;
    Hop(h) "hop.start" in "start_ms" Time false "arrival, from the request's start" h.start;
    Hop(h) "hop.clock_offset" in "clock_offset_ms" Time false "what was added to its clock" h.clock_offset;
    Hop(h) "hop.verdict_call" in "verdict_call" Id true "the call that took more than the hop itself" h.verdict_call.as_ref().map(|id| &id.0[..]);
    Hop(h) "hop.span_id" in "span_id" Id false "its entry span" &h.span_id.0[..];
    Hop(h) "hop.id" in "id" Count false "0 is the root" h.id;
    Hop(h) "hop.parent" in "parent" Count true "the id of the calling hop" h.parent;
    Hop(h) "hop.depth" in "depth" Count false "hops above it" h.depth;

    Call(h, c) "call.service" in "service" Text false "the caller" {let _ = c; &h.service};
    Call(_h, c) "call.to" in "to" Text false "the callee" &c.to;
    Call(_h, c) "call.operation" in "operation" Text false "what was asked of it" &c.operation;
    Call(_h, c) "call.kind" in "kind" Word(CALL_KIND) false "what the far side is" c.kind.as_str();
    Call(_h, c) "call.verdict" in "verdict" Word(VERDICT) false "how it ended" c.verdict.as_str();
    Call(_h, c) "call.elapsed" in "elapsed_ms" Time false "how long the caller was in it" c.elapsed;
    Call(_h, c) "call.remaining_out" in "remaining_out_ms" Time true "the budget that was passed on" c.remaining_out;
    Call(_h, c) "call.timeout" in "timeout_ms" Time true "the timeout that the caller chose" c.timeout;
    Call(_h, c) "call.remaining_out_source.key" in "remaining_out_source_key" Text true "the attribute, header or text that it was read from" c.remaining_out_source.key.as_ref();
    Call(_h, c) "call.timeout_source.key" in "timeout_source_key" Text true "the attribute, header or text that it was read from" c.timeout_source.key.as_ref();
    Call(_h, c) "call.transit_out" in "transit_out_ms" Time true "from its start to the callee's arrival" c.transit_out;
    Call(_h, c) "call.transit_back" in "transit_back_ms" Time true "from the callee's answer to its end" c.transit_back;
    Call(_h, c) "call.attempt" in "attempt" Count false "1 for the first" c.attempt;
    Call(_h, c) "call.attempts" in "attempts" Count false "attempts of the same call" c.attempts;
    Call(_h, c) "call.waited" in "waited" Flag false "whether its hop waited for it" c.waited;
    Call(_h, c) "call.start" in "start_ms" Time false "when it began, from the request's start" c.start;
    Call(_h, c) "call.hop" in "to_hop" Count true "the id of the hop on the far side" c.hop;
    Call(_h, c) "call.span_id" in "span_id" Id false "its span" &c.span_id.0[..];

    Ledger(l) "ledger.service" in "service" Text false "the owner of the time" &l.service;
    Ledger(l) "ledger.operation" in "operation" Text false "its operation" &l.operation;
    Ledger(l) "ledger.part" in "part" Word(PART) false "what it was spent on" l.part.as_str();
    Ledger(l) "ledger.to" in "to" Text true "the callee, unless the part is local" l.to.as_ref();
    Ledger(l) "ledger.time" in "ms" Time false "the whole (`ms` in JSON)" l.time;
    Ledger(l) "ledger.after_deadline" in "after_deadline_ms" Time false "what of it lies after the deadline" l.after_deadline;
    Ledger(l) "ledger.hop" in "hop" Count false "the id of the owning hop" l.hop;

    Finding(f) "finding.rule" in "rule" Word(RULE) false "the rule that found it" f.rule.as_str();
    Finding(f) "finding.severity" in "severity" Word(SEVERITY) false "how much it matters" f.severity.as_str();
    Finding(f) "finding.service" in "service" Text false "whose owners must act" &f.service;
    Finding(f) "finding.to" in "to" Text true "the callee, where there is one" f.to.as_ref();
    Finding(f) "finding.count" in "count" Count false "cases (`count` of the evidence)" f.evidence.count;
    Finding(f) "finding.message" in "message" Text false "the evidence as a sentence" f.message.as_str();
    Finding(f) "finding.hop" in "hop" Count false "the id of the hop where it was found" f.hop;
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(id: &'a [u8]) -> Self {
        Self::Id(id)
    }
}

impl<'a> From<&'a Text> for Value<'a> {
    fn from(text: &'a Text) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl From<Nanos> for Value<'_> {
    fn from(time: Nanos) -> Self {
        Self::Time(time)
    }
}

impl From<UnixNanos> for Value<'_> {
    fn from(instant: UnixNanos) -> Self {
        Self::Instant(instant)
    }
}

impl From<bool> for Value<'_> {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<usize> for Value<'_> {
    fn from(count: usize) -> Self {
        Self::Count(i64::try_from(count).unwrap_or(i64::MAX))
    }
}

impl From<u64> for Value<'_> {
    fn from(count: u64) -> Self {
        Self::Count(i64::try_from(count).unwrap_or(i64::MAX))
    }
}

impl From<u32> for Value<'_> {
    fn from(count: u32) -> Self {
        Self::Count(i64::from(count))
    }
}
