//! What is added up of some requests.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::histogram::Histogram;
use crate::model::{How, Outcome, SpanId, TraceId, UnixNanos, Verdict};

/// Something that adds up: merging is associative and commutative, and what was merged can be taken
/// away again.
pub(super) trait Sum: Default + Clone {
    fn merge(&mut self, other: &Self);
    /// Takes away what was merged before; of examples [`forget`](Self::forget) does it.
    fn subtract(&mut self, other: &Self);
    fn is_zero(&self) -> bool;
    /// Counts what waits to be counted.
    fn settle(&mut self) {}
    /// Drops examples from traces that are gone. True if others should stand in their place that
    /// are not known here.
    fn forget(&mut self, _gone: &dyn Fn(TraceId) -> bool) -> bool {
        false
    }
    /// Keeps as many examples as a minute needs.
    fn thin(&mut self) {}
    /// About how many bytes it takes in memory, beyond itself.
    fn bytes(&self) -> usize {
        0
    }
}

/// What a group has.
pub(super) trait Value: Sum + Serialize + DeserializeOwned {
    /// How much a group matters when there are too many.
    fn weight(&self) -> u64;
}

impl Sum for u64 {
    fn merge(&mut self, other: &Self) {
        *self = self.saturating_add(*other);
    }

    fn subtract(&mut self, other: &Self) {
        *self = self.saturating_sub(*other);
    }

    fn is_zero(&self) -> bool {
        *self == 0
    }
}

/// Times in all, beyond what one time can hold, in nanoseconds.
impl Sum for i128 {
    fn merge(&mut self, other: &Self) {
        *self += other;
    }

    fn subtract(&mut self, other: &Self) {
        *self -= other;
    }

    fn is_zero(&self) -> bool {
        *self == 0
    }
}

impl<const N: usize> Sum for [u64; N]
where
    [u64; N]: Default,
{
    fn merge(&mut self, other: &Self) {
        let pairs = self.iter_mut().zip(other);
        pairs.for_each(|(mine, theirs)| mine.merge(theirs));
    }

    fn subtract(&mut self, other: &Self) {
        let pairs = self.iter_mut().zip(other);
        pairs.for_each(|(mine, theirs)| mine.subtract(theirs));
    }

    fn is_zero(&self) -> bool {
        self.iter().all(|count| *count == 0)
    }
}

impl Sum for Histogram {
    fn merge(&mut self, other: &Self) {
        Self::merge(self, other);
    }

    fn subtract(&mut self, other: &Self) {
        Self::subtract(self, other);
    }

    fn is_zero(&self) -> bool {
        self.is_empty()
    }

    fn settle(&mut self) {
        Self::settle(self);
    }

    fn bytes(&self) -> usize {
        Self::bytes(self)
    }
}

/// The greatest of some examples. Equal ones show the same.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Top<T, const MOST: usize, const SHOWN: usize> {
    /// The greatest first.
    list: Vec<T>,
    /// Whether there were others.
    more: bool,
}

/// An example of a trace.
pub trait OfTrace: Ord + Clone {
    fn trace(&self) -> TraceId;

    fn bytes(&self) -> usize {
        0
    }
}

impl<T, const MOST: usize, const SHOWN: usize> Default for Top<T, MOST, SHOWN> {
    fn default() -> Self {
        Self {
            list: Vec::new(),
            more: false,
        }
    }
}

impl<T: PartialEq, const MOST: usize, const SHOWN: usize> PartialEq for Top<T, MOST, SHOWN> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<T, const MOST: usize, const SHOWN: usize> Top<T, MOST, SHOWN> {
    /// Those that are shown, the greatest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.list.iter().take(SHOWN)
    }

    /// The greatest.
    pub fn first(&self) -> Option<&T> {
        self.list.first()
    }
}

impl<T: OfTrace, const MOST: usize, const SHOWN: usize> Top<T, MOST, SHOWN> {
    /// True if it would stand here.
    pub(super) fn takes(&self, than: impl Fn(&T) -> bool) -> bool {
        self.list.len() < MOST || self.list.last().is_some_and(than)
    }

    pub(super) fn add(&mut self, one: T) {
        let place = self.list.partition_point(|known| *known > one);
        if self.list.get(place) != Some(&one) {
            self.list.insert(place, one);
            self.cut(MOST);
        }
    }

    /// One that [`takes`](Self::takes) refused.
    pub(super) fn pass(&mut self) {
        self.more = true;
    }

    fn cut(&mut self, most: usize) {
        self.more |= self.list.len() > most;
        self.list.truncate(most);
    }
}

impl<T: OfTrace, const MOST: usize, const SHOWN: usize> Sum for Top<T, MOST, SHOWN> {
    fn merge(&mut self, other: &Self) {
        self.more |= other.more;
        other.list.iter().for_each(|one| self.add(one.clone()));
    }

    fn subtract(&mut self, _other: &Self) {}

    fn is_zero(&self) -> bool {
        true
    }

    fn forget(&mut self, gone: &dyn Fn(TraceId) -> bool) -> bool {
        let before = self.list.len();
        self.list.retain(|one| !gone(one.trace()));
        self.list.len() < before.min(SHOWN) && self.more
    }

    fn thin(&mut self) {
        self.cut(SHOWN);
    }

    fn bytes(&self) -> usize {
        let each = self.list.iter().map(|one| size_of::<T>() + one.bytes());
        each.sum()
    }
}

/// A request as an example; the newest is the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Example {
    /// When it started.
    pub start: UnixNanos,
    /// Its trace.
    pub trace_id: TraceId,
    /// The span id of the root hop's entry.
    pub request: SpanId,
}

/// The oldest is the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Oldest(pub std::cmp::Reverse<Example>);

/// A missed request; the one with the most wasted time is the greatest, of equal ones the newest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Miss {
    /// Run time for nobody, in nanoseconds.
    pub wasted: i64,
    /// The request.
    pub example: Example,
}

/// A finding; the worst by its rule's measure is the greatest, of equal ones the newest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Worst {
    /// How bad it is, as its rule measures it.
    pub weight: i64,
    /// The request.
    pub example: Example,
    /// The numbers as a sentence; a very long one is cut.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

impl OfTrace for Example {
    fn trace(&self) -> TraceId {
        self.trace_id
    }
}

impl OfTrace for Oldest {
    fn trace(&self) -> TraceId {
        self.0.0.trace_id
    }
}

impl OfTrace for Miss {
    fn trace(&self) -> TraceId {
        self.example.trace_id
    }
}

impl OfTrace for Worst {
    fn trace(&self) -> TraceId {
        self.example.trace_id
    }

    fn bytes(&self) -> usize {
        self.message.len() + self.hint.len()
    }
}

impl Serialize for Example {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.start.0, self.trace_id.0, self.request.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Example {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (start, trace_id, request) = Deserialize::deserialize(deserializer)?;
        Ok(Self {
            start: UnixNanos(start),
            trace_id: TraceId(trace_id),
            request: SpanId(request),
        })
    }
}

macro_rules! values {
    ($(
        $(#[doc = $about:literal])+
        $value:ident by $weight:ident {
            $( $(#[doc = $doc:literal])+ $field:ident: $kind:ty, )+
        }
    )+) => {$(
        $(#[doc = $about])+
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        pub struct $value {
            $( $(#[doc = $doc])+ pub $field: $kind, )+
        }

        impl $value {
            /// Adds another.
            pub fn plus(&mut self, other: &Self) {
                Sum::merge(self, other);
            }
        }

        impl Sum for $value {
            fn merge(&mut self, other: &Self) {
                $( Sum::merge(&mut self.$field, &other.$field); )+
            }

            fn subtract(&mut self, other: &Self) {
                $( Sum::subtract(&mut self.$field, &other.$field); )+
            }

            fn is_zero(&self) -> bool {
                true $( && Sum::is_zero(&self.$field) )+
            }

            fn settle(&mut self) {
                $( Sum::settle(&mut self.$field); )+
            }

            fn forget(&mut self, gone: &dyn Fn(TraceId) -> bool) -> bool {
                let lost = [$( Sum::forget(&mut self.$field, gone) ),+];
                lost.contains(&true)
            }

            fn thin(&mut self) {
                $( Sum::thin(&mut self.$field); )+
            }

            fn bytes(&self) -> usize {
                0 $( + Sum::bytes(&self.$field) )+
            }
        }

        impl Value for $value {
            fn weight(&self) -> u64 {
                self.$weight
            }
        }
    )+};
}

values! {
    /// Requests.
    Requests by all {
        /// All of them.
        all: u64,
        /// By outcome, in the order of [`Outcome::ALL`].
        outcomes: [u64; Outcome::ALL.len()],
        /// Missed ones by the verdict where they surfaced, in the order of [`Verdict::ALL`].
        missed_by: [u64; Verdict::ALL.len()],
        /// Those with a known budget, and those that missed an unknown one.
        budgeted: u64,
        /// Elapsed of the budget, in millionths of it, where one above 0 is known.
        used: Histogram,
        /// From the root's arrival to its answer, in nanoseconds.
        elapsed: Histogram,
        /// Run time for nobody, in nanoseconds.
        wasted: i128,
        /// Missed requests with the most wasted time.
        worst: Top<Miss, 8, 5>,
        /// Missed requests that started last.
        newest: Top<Example, 8, 5>,
    }

    /// Runs of a hop; times in nanoseconds.
    Hop by runs {
        /// All of them.
        runs: u64,
        /// Those at the root of a request.
        roots: u64,
        /// By how the budget on arrival was known, in the order of [`How::ALL`].
        hows: [u64; How::ALL.len()],
        /// How its callers passed their deadlines on to it.
        passed: Passed,
        /// By verdict, in the order of [`Verdict::ALL`].
        verdicts: [u64; Verdict::ALL.len()],
        /// What was left on arrival of runs that were answered in time.
        remaining_ok: Histogram,
        /// The same of the others.
        remaining_not: Histogram,
        /// From arrival to answer, of successful runs.
        elapsed_ok: Histogram,
        /// The same of the others.
        elapsed_not: Histogram,
        /// Own time of successful runs.
        local_ok: Histogram,
        /// The same of the others.
        local_not: Histogram,
        /// Waiting before work, where that is known.
        queue: Histogram,
        /// Run time for nobody.
        wasted: i128,
        /// Requests whose failure surfaced there.
        surfaced: u64,
        /// Of these the missed ones.
        surfaced_missed: u64,
    }

    /// Calls; times in nanoseconds.
    Call by calls {
        /// All of them, each attempt for itself.
        calls: u64,
        /// First attempts.
        firsts: u64,
        /// By verdict, in the order of [`Verdict::ALL`].
        verdicts: [u64; Verdict::ALL.len()],
        /// How they passed the deadline on.
        passed: Passed,
        /// The budget that was passed on.
        sent: Histogram,
        /// What was left when the callee got it.
        arrived: Histogram,
        /// What the caller had left at the call's start, less what the callee got: below zero if it
        /// got more.
        lost: Histogram,
        /// The timeout that the caller chose.
        timeout: Histogram,
        /// How long the caller was in it, of successful ones.
        elapsed_ok: Histogram,
        /// The same of the others.
        elapsed_not: Histogram,
        /// On the way there and back, where both are known.
        transit: Histogram,
    }

    /// How deadlines were passed on.
    Passed by all {
        /// All runs or calls.
        all: u64,
        /// Those that were told one.
        told: u64,
        /// Those that were not, although the caller had one and waited.
        not_told: u64,
        /// Those that were told more than the caller had left.
        reset: u64,
    }

    /// Calls of a hop that was told its deadline, to one that was told none.
    Break by calls {
        /// All of them.
        calls: u64,
        /// Requests with one.
        requests: u64,
        /// The newest of these.
        newest: Top<Example, 2, 1>,
    }

    /// Who held the clock; times in nanoseconds.
    Culprit by weight {
        /// Rows of the ledger of missed requests, and requests of which it was the culprit.
        weight: u64,
        /// Missed requests of which it was the culprit.
        missed: u64,
        /// What it took of their budgets.
        taken: i128,
        /// Other requests of which it was the culprit.
        others: u64,
        /// What it took of them.
        others_taken: i128,
        /// Rows of the ledgers of missed requests before their deadlines, whoever was the culprit.
        rows: u64,
        /// The time in these.
        held: i128,
    }

    /// Requests that surfaced at one service and were spent at another.
    Pair by all {
        /// All of them.
        all: u64,
        /// The missed ones.
        missed: u64,
    }

    /// Findings of one rule, service and callee.
    Finding by count {
        /// Cases.
        count: u64,
        /// Requests with one.
        requests: u64,
        /// The worst cases.
        worst: Top<Worst, 2, 1>,
        /// The newest requests.
        newest: Top<Example, 2, 1>,
        /// The oldest requests.
        oldest: Top<Oldest, 2, 1>,
    }
}

/// The count of one of these, by the order in which they were counted.
pub fn count_of<T: PartialEq>(counts: &[u64], all: &[T], one: &T) -> u64 {
    let pairs = all.iter().zip(counts);
    let mut found = pairs.filter(|(known, _)| *known == one);
    found.next().map_or(0, |(_, count)| *count)
}

/// Counts one of these.
pub(super) fn count<T: PartialEq>(counts: &mut [u64], all: &[T], one: &T) {
    let mut pairs = all.iter().zip(counts);
    if let Some((_, count)) = pairs.find(|(known, _)| *known == one) {
        *count += 1;
    }
}

/// Adds a group to others of its kind.
pub(super) fn put<K: Ord + Clone, V: Sum>(groups: &mut BTreeMap<K, V>, key: &K, value: &V) {
    match groups.get_mut(key) {
        Some(known) => known.merge(value),
        None => {
            groups.insert(key.clone(), value.clone());
        }
    }
}
