//! Who gave up: why a span ended as it did, where it says so.

/// Why something ended early or late.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Its own budget or timeout ran out, whether it set that itself or was given it.
    OwnDeadline,
    /// The deadline of whoever called it ran out, and the caller took the call back.
    CallerDeadline,
    /// Whoever called it left for another reason.
    CallerGone,
    /// Something that it called was too slow or answered with a timeout.
    DependencyTimeout,
    /// Nothing was left when the request arrived.
    ExpiredOnArrival,
    /// Nothing was left when the call was to be sent; it never was.
    ExpiredBeforeSend,
    /// Its words allow a deadline and a cancellation alike, and nothing around it tells which.
    Ambiguous,
}

impl Reason {
    /// Every reason.
    pub const ALL: [Self; 7] = [
        Self::OwnDeadline,
        Self::CallerDeadline,
        Self::CallerGone,
        Self::DependencyTimeout,
        Self::ExpiredOnArrival,
        Self::ExpiredBeforeSend,
        Self::Ambiguous,
    ];

    /// The word in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OwnDeadline => "own_deadline",
            Self::CallerDeadline => "caller_deadline",
            Self::CallerGone => "caller_gone",
            Self::DependencyTimeout => "dependency_timeout",
            Self::ExpiredOnArrival => "expired_on_arrival",
            Self::ExpiredBeforeSend => "expired_before_send",
            Self::Ambiguous => "ambiguous",
        }
    }

    /// The word for people: spaces for underscores.
    pub fn words(self) -> String {
        self.as_str().replace('_', " ")
    }
}
