//! How systems put deadlines on spans: a table of rules, grammars for the values, and the reader
//! that applies them. A rule is data: adding a key is a line in [`table`], no code.

mod grammar;
mod read;
mod table;

pub(super) use read::{Facts, Reading, read};

/// What a value means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Field {
    /// Budget left when the request arrived.
    RemainingIn,
    /// Budget passed on with a call.
    RemainingOut,
    /// What a caller is ready to wait.
    Timeout,
    /// Time that the hop says it spent itself.
    Local,
    /// Time that the request waited before work began.
    Queue,
    /// An absolute deadline.
    Deadline,
    /// The hop's own word for how it ended.
    Outcome,
    /// Attempts before this one.
    Resend,
    /// This attempt's number, from 1.
    Attempt,
}

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grammar {
    /// A decimal number of milliseconds.
    Millis,
    /// `grpc-timeout` of the gRPC protocol: at most eight digits and a unit of `H M S m u n`.
    GrpcTimeout,
    /// RFC 3339, or seconds to nanoseconds since 1970 told apart by their size.
    Instant,
    /// A word.
    Word,
    /// A whole number from 0.
    Count,
}

/// Where a rule looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// An attribute with exactly this key.
    Attribute,
    /// A captured request header, under any capture prefix; `_` and `-` are one.
    Header,
}

/// One way of putting a deadline on a span.
#[derive(Debug, Clone, Copy)]
pub(super) struct Convention {
    /// The key, or the header's name in lower case with `-`.
    pub key: &'static str,
    /// Where it stands.
    pub place: Place,
    /// What it means on a span that handles an inbound request, and on any other but a caller's.
    pub inbound: Field,
    /// What it means on a CLIENT or PRODUCER span.
    pub outbound: Field,
    /// How it is written.
    pub grammar: Grammar,
}
