//! Summaries of parts: what pages about many requests are made from, so that none reads rows.
//!
//! A [`Rollup`] has the sums of the requests of a part, by group (a hop, a call edge, a culprit, a
//! rule's findings) and of each group as a whole and by **minute of the request's start**. It stands
//! beside its part (`index/000000000012.sum`) and can be made again from the rows; what is fresh
//! has one for each piece of memory. A question merges the wholes of what lies in its window, the
//! minutes at its edges, and takes away what later states superseded, whose rows alone are read
//! for that.
//!
//! **Invariant**: counts and sums are exact and the same however requests lie in parts and memory;
//! percentiles are within [`Histogram::ERROR`]. Merging is associative and commutative.
//!
//! What is cut: of a table's groups in a part, those that matter the least beyond 2,000 go into one
//! named `(other)` and are counted in [`Sums::folded`]. Of the examples of a group (its worst, its
//! newest requests) few are kept: none is shown that is superseded, but the next best of a single
//! minute may be missing then.
//!
//! A `.sum` file is eight bytes of magic, the summary in `postcard`'s encoding, and the XXH3-64 of
//! all that; it is whole or absent. One that is damaged, missing or of another version is made
//! again.

mod ask;
mod build;
mod cache;
mod firsts;
mod group;
mod histogram;
mod rows;
#[cfg(test)]
mod tests;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

pub(super) use cache::{Summaries, after_flush, after_merge, before_merge};
pub use group::{Minutes, OTHER};
pub use histogram::Histogram;
pub use values::{
    Break, Call, Culprit, Example, Finding, Hop, Miss, Oldest, Pair, Passed, Requests, Top, Worst,
    count_of,
};

use self::group::{MOST_GROUPS, Table, folded};
use self::values::{Value, put};
use super::index::{SOMETHING_ELSE, seal, unseal};
use crate::model::{Text, TraceId};

/// The name of the format and its version.
const MAGIC: &[u8; 8] = b"DWINSUM3";
const NAME: &[u8] = b"DWINSUM";

/// Groups of one table in a sum over many parts; beyond them the least go into `(other)`.
const MOST_IN_SUM: usize = 10 * MOST_GROUPS;

/// Nanoseconds of a minute.
pub const MINUTE: u64 = 60_000_000_000;

macro_rules! tables {
    ($( $(#[doc = $doc:literal])+ $table:ident: [$size:literal] $value:ident, $levels:expr; )+) => {
        /// Sums over the requests of a window, by group. A group's names are those of the field's
        /// documentation; a name that there is none of is empty.
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct Sums {
            $( $(#[doc = $doc])+ pub $table: BTreeMap<[Text; $size], $value>, )+
            /// Groups that were too many and went into `(other)`.
            pub folded: u64,
        }

        /// The summary of some requests.
        #[derive(Debug, Default, Serialize, Deserialize)]
        pub struct Rollup {
            $( $table: Table<$size, $value>, )+
            /// The minutes of the first and the last start.
            first: u64,
            last: u64,
        }

        /// Which tables are asked for, and which groups of them.
        #[derive(Debug, Clone, Default)]
        pub struct Wanted {
            $( #[doc = "This table."] pub $table: bool, )+
            /// Only groups that have this name among theirs.
            pub only: Option<Text>,
        }

        impl Wanted {
            /// Every table.
            pub fn all() -> Self {
                Self { $( $table: true, )+ only: None }
            }
        }

        impl Sums {
            /// Adds others.
            pub fn merge(&mut self, other: &Self) {
                $(
                    for (key, value) in &other.$table {
                        put(&mut self.$table, key, value);
                    }
                    bound(&mut self.$table, &mut self.folded, $levels);
                )+
                self.folded += other.folded;
            }
        }

        impl Rollup {
            /// Adds another. Nothing is cut.
            pub(super) fn merge(&mut self, other: &Self) {
                if other.requests.iter().next().is_none() {
                    return;
                }
                if self.requests.iter().next().is_none() {
                    (self.first, self.last) = (other.first, other.last);
                }
                self.first = self.first.min(other.first);
                self.last = self.last.max(other.last);
                $( self.$table.merge(&other.$table); )+
            }

            /// Folds what is too much.
            fn cap(&mut self) {
                $( self.$table.cap($levels); )+
            }

            /// Without what `gone` has. True if an example is missing, for which the rows
            /// must be read.
            fn without(&self, gone: &Self, is_gone: &dyn Fn(TraceId) -> bool) -> (Self, bool) {
                let mut lost = false;
                let rollup = Self {
                    $( $table: {
                        let (left, missing) = self.$table.without(&gone.$table, $levels, is_gone);
                        lost |= missing;
                        left
                    }, )+
                    first: self.first,
                    last: self.last,
                };
                (rollup, lost)
            }

            /// Adds its share of some minutes.
            fn add_to(&self, sums: &mut Sums, within: &Minutes, wanted: &Wanted) {
                let whole = within.start <= self.first && self.last < within.end;
                $(
                    if wanted.$table {
                        for group in self.$table.iter().filter(|group| wanted.takes(&group.key)) {
                            if whole {
                                put(&mut sums.$table, &group.key, &group.whole);
                                continue;
                            }
                            for (_, value) in group.minutes(within) {
                                put(&mut sums.$table, &group.key, &value);
                            }
                        }
                        sums.folded += self.$table.folded;
                        bound(&mut sums.$table, &mut sums.folded, $levels);
                    }
                )+
            }

            /// Adds its minutes to a series of sums, each over `step` minutes from a multiple of
            /// that on.
            fn add_to_series(
                &self,
                series: &mut [Sums],
                within: &Minutes,
                step: u64,
                wanted: &Wanted,
            ) {
                let place = |minute: u64| usize::try_from(minute / step - within.start / step).ok();
                let inside = within.start <= self.first && self.last < within.end;
                let one = Some(()).filter(|()| inside).and_then(|()| {
                    let (first, last) = (place(self.first)?, place(self.last)?);
                    (first == last).then_some(first)
                });
                if let Some(sums) = one.and_then(|place| series.get_mut(place)) {
                    self.add_to(sums, within, wanted);
                    return;
                }
                $(
                    if wanted.$table {
                        for group in self.$table.iter().filter(|group| wanted.takes(&group.key)) {
                            for (minute, value) in group.minutes(within) {
                                let sums = place(minute).and_then(|place| series.get_mut(place));
                                if let Some(sums) = sums {
                                    put(&mut sums.$table, &group.key, &value);
                                }
                            }
                        }
                    }
                )+
            }

            /// About how many bytes it takes in memory.
            fn bytes(&self) -> usize {
                size_of::<Self>() $( + self.$table.bytes() )+
            }
        }
    };
}

tables! {
    /// All requests: one group without a name.
    requests: [0] Requests, [[]; 2];
    /// By service and operation.
    hops: [2] Hop, [[false, true], [true; 2]];
    /// By the calling hop's service and operation, the callee, what is asked of it, the operation
    /// that answered (empty where no hop did), and the kind of the call.
    calls: [6] Call, [
        [false, true, false, true, true, false],
        [true, true, true, true, true, false]
    ];
    /// Calls to other hops, by service and callee.
    edges: [2] Passed, [[true; 2]; 2];
    /// By service, operation and callee.
    breaks: [3] Break, [[false, true, false], [true; 3]];
    /// Who held the clock, by service, operation, part and callee.
    culprits: [4] Culprit, [[false, true, false, false], [true, true, false, true]];
    /// By the service where it surfaced, and the service, part and callee of the culprit.
    pairs: [4] Pair, [[false, false, false, true], [true, true, false, true]];
    /// By rule, service and callee.
    findings: [3] Finding, [[false, false, true], [false, true, true]];
}

impl Wanted {
    fn takes(&self, key: &[Text]) -> bool {
        let only = self.only.as_ref();
        only.is_none_or(|only| key.contains(only))
    }
}

impl Sums {
    /// All requests.
    pub fn all(&self) -> Requests {
        self.requests.get(&[]).cloned().unwrap_or_default()
    }
}

impl Rollup {
    pub(super) fn save(&self, path: &Path) -> std::io::Result<()> {
        let mut bytes = MAGIC.to_vec();
        let body = postcard::to_stdvec(self).map_err(std::io::Error::other)?;
        bytes.extend(body);
        seal(path, bytes)
    }

    /// Reads one; `None` of another version of Dwindle. An error says why it cannot be used.
    pub(super) fn load(path: &Path) -> Result<Option<Self>, String> {
        let (magic, bytes) = unseal(path)?;
        if magic != *MAGIC {
            let of_another_version = magic.starts_with(NAME);
            return of_another_version
                .then_some(None)
                .ok_or_else(|| SOMETHING_ELSE.to_owned());
        }
        let read = postcard::from_bytes(&bytes);
        read.map(Some)
            .map_err(|error| format!("it cannot be read: {error}"))
    }

    /// How many requests, runs, calls and findings there are: the rows that it was made from.
    pub(super) fn rows(&self) -> [u64; 4] {
        [
            self.requests.iter().map(|group| group.whole.all).sum(),
            self.hops.iter().map(|group| group.whole.runs).sum(),
            self.calls.iter().map(|group| group.whole.calls).sum(),
            self.findings.iter().map(|group| group.whole.requests).sum(),
        ]
    }
}

/// Folds the groups that matter the least when there are too many.
fn bound<const N: usize, V: Value>(
    groups: &mut BTreeMap<[Text; N], V>,
    count: &mut u64,
    levels: [[bool; N]; 2],
) {
    for level in levels {
        if groups.len() <= MOST_IN_SUM {
            return;
        }
        let mut ranked: Vec<(u64, &[Text; N])> = groups
            .iter()
            .map(|(key, value)| (value.weight(), key))
            .collect();
        ranked.sort_by_key(|(weight, _)| std::cmp::Reverse(*weight));
        let few = ranked.iter().skip(MOST_IN_SUM / 2);
        let few: BTreeSet<[Text; N]> = few.map(|(_, key)| (*key).clone()).collect();
        for key in few {
            if let Some(value) = groups.remove(&key) {
                *count += u64::from(!key.iter().any(|name| name == OTHER));
                put(groups, &folded(&key, level), &value);
            }
        }
    }
}
