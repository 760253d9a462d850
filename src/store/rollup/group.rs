//! Groups of one table of a summary: by name, as a whole and by minute.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::values::{Value, put};
use crate::model::{Text, TraceId};

/// What stands for the names of groups that were too many.
pub const OTHER: &str = "(other)";

/// The most groups of one table in a part.
pub(super) const MOST_GROUPS: usize = 2_000;

/// The most bytes of their names.
const MOST_NAMES: usize = 1 << 20;

/// Minutes since 1970, from the first up to but without the last.
pub type Minutes = Range<u64>;

/// A group: its names, its sum, and the sums of the minutes in which it was there.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "V: Value")]
pub(super) struct Group<const N: usize, V> {
    #[serde(with = "names")]
    pub(super) key: [Text; N],
    pub(super) whole: V,
    minutes: Packed,
}

/// Sums by minute, packed: the distance from the minute before, the length, the bytes.
#[derive(Default)]
struct Packed(Vec<u8>);

/// The groups of a table, by name.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "V: Value")]
pub(super) struct Table<const N: usize, V> {
    groups: Vec<Arc<Group<N, V>>>,
    /// Groups that went into others.
    pub(super) folded: u64,
}

impl<const N: usize, V> Default for Table<N, V> {
    fn default() -> Self {
        Self {
            groups: Vec::new(),
            folded: 0,
        }
    }
}

impl fmt::Debug for Packed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl Serialize for Packed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Packed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes: &[u8] = Deserialize::deserialize(deserializer)?;
        Ok(Self(bytes.to_vec()))
    }
}

/// Names as a list, since serde knows arrays of fixed lengths only.
mod names {
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::model::Text;

    pub(super) fn serialize<const N: usize, S: Serializer>(
        key: &[Text; N],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        key.as_slice().serialize(serializer)
    }

    pub(super) fn deserialize<'de, const N: usize, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<[Text; N], D::Error> {
        let names: Vec<Text> = Deserialize::deserialize(deserializer)?;
        let wrong = |names: Vec<Text>| D::Error::invalid_length(names.len(), &"as many names");
        names.try_into().map_err(wrong)
    }
}

impl<const N: usize, V: Value> Group<N, V> {
    /// Of its sums by minute, which must be settled.
    pub(super) fn of(key: [Text; N], minutes: &BTreeMap<u64, V>) -> Self {
        let mut whole = V::default();
        let mut packed = Packed::default();
        let mut last = 0;
        for (minute, value) in minutes {
            whole.merge(value);
            let mut thin = value.clone();
            thin.thin();
            packed.push(minute - last, &thin);
            last = *minute;
        }
        Self {
            key,
            whole,
            minutes: packed,
        }
    }

    /// The sums of these minutes, in order. What cannot be read is not there: the file's checksum
    /// vouches for its bytes.
    pub(super) fn minutes(&self, within: &Minutes) -> impl Iterator<Item = (u64, V)> {
        let mut rest = self.minutes.0.as_slice();
        let mut minute = 0_u64;
        let within = within.clone();
        std::iter::from_fn(move || {
            loop {
                let (step, length) = (take(&mut rest)?, take(&mut rest)?);
                minute = minute.saturating_add(step);
                if minute >= within.end {
                    return None;
                }
                let (value, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
                rest = after;
                if minute >= within.start {
                    return Some((minute, postcard::from_bytes(value).ok()?));
                }
            }
        })
    }

    fn merged(&self, other: &Self) -> Self {
        let mut minutes: BTreeMap<u64, V> = self.minutes(&ALL).collect();
        for (minute, value) in other.minutes(&ALL) {
            put(&mut minutes, &minute, &value);
        }
        let mut whole = self.whole.clone();
        whole.merge(&other.whole);
        Self {
            whole,
            ..Self::of(self.key.clone(), &minutes)
        }
    }

    /// Without what `gone` has, and `None` if nothing is left. True if an example is missing.
    fn without(
        &self,
        gone: Option<&Self>,
        is_gone: &dyn Fn(TraceId) -> bool,
    ) -> (Option<Self>, bool) {
        let mut whole = self.whole.clone();
        let mut minutes: BTreeMap<u64, V> = self.minutes(&ALL).collect();
        if let Some(gone) = gone {
            whole.subtract(&gone.whole);
            for (minute, value) in gone.minutes(&ALL) {
                if let Some(known) = minutes.get_mut(&minute) {
                    known.subtract(&value);
                }
            }
        }
        let lost = whole.forget(is_gone);
        for value in minutes.values_mut() {
            value.forget(is_gone);
        }
        minutes.retain(|_, value| !value.is_zero());
        let left = Self {
            whole,
            ..Self::of(self.key.clone(), &minutes)
        };
        (Some(left).filter(|left| !left.whole.is_zero()), lost)
    }

    fn bytes(&self) -> usize {
        let names = self.key.iter().map(|name| size_of::<Text>() + name.len());
        size_of::<Self>() + names.sum::<usize>() + self.whole.bytes() + self.minutes.0.len()
    }
}

/// Every minute.
pub(super) const ALL: Minutes = 0..u64::MAX;

fn take(rest: &mut &[u8]) -> Option<u64> {
    let (number, after) = postcard::take_from_bytes(rest).ok()?;
    *rest = after;
    Some(number)
}

impl Packed {
    fn push<V: Serialize>(&mut self, step: u64, value: &V) {
        // Writing into memory fails for no value that is here.
        let value = postcard::to_stdvec(value).unwrap_or_default();
        for number in [step, value.len() as u64] {
            self.0
                .extend(postcard::to_stdvec(&number).unwrap_or_default());
        }
        self.0.extend(value);
    }
}

impl<const N: usize, V: Value> Table<N, V> {
    pub(super) fn of(groups: BTreeMap<[Text; N], BTreeMap<u64, V>>) -> Self {
        let groups = groups.into_iter();
        Self {
            groups: groups
                .map(|(key, minutes)| Arc::new(Group::of(key, &minutes)))
                .collect(),
            folded: 0,
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Group<N, V>> {
        self.groups.iter().map(Arc::as_ref)
    }

    pub(super) fn merge(&mut self, other: &Self) {
        let mut merged: BTreeMap<[Text; N], Arc<Group<N, V>>> = BTreeMap::new();
        for group in self.groups.iter().chain(&other.groups) {
            let known = merged.remove(&group.key);
            let group = match known {
                None => Arc::clone(group),
                Some(known) => Arc::new(Group::merged(&known, group)),
            };
            merged.insert(group.key.clone(), group);
        }
        self.groups = merged.into_values().collect();
        self.folded += other.folded;
    }

    /// Without the groups' shares that `gone` has. True if an example is missing.
    pub(super) fn without(
        &self,
        gone: &Self,
        levels: [[bool; N]; 2],
        is_gone: &dyn Fn(TraceId) -> bool,
    ) -> (Self, bool) {
        // What was folded here may have stood for itself there.
        let mut gone_here: BTreeMap<&[Text; N], Group<N, V>> = BTreeMap::new();
        let place = |key: &[Text; N]| {
            self.groups
                .binary_search_by(|group| group.key.cmp(key))
                .ok()
        };
        for group in &gone.groups {
            let folded = levels.map(|level| folded(&group.key, level));
            let mut keys = std::iter::once(&group.key).chain(&folded);
            let Some(place) = keys.find_map(place) else {
                continue;
            };
            let Some(known) = self.groups.get(place) else {
                continue;
            };
            let sum = match gone_here.remove(&known.key) {
                Some(before) => before.merged(group),
                None => Group::of(known.key.clone(), &group.minutes(&ALL).collect()),
            };
            gone_here.insert(&known.key, sum);
        }
        let mut lost = false;
        let left = self.groups.iter().filter_map(|group| {
            let gone = gone_here.get(&group.key);
            if gone.is_none() {
                return Some(Arc::clone(group));
            }
            let (left, missing) = group.without(gone, is_gone);
            lost |= missing;
            left.map(Arc::new)
        });
        let groups = left.collect();
        let table = Self {
            groups,
            folded: self.folded,
        };
        (table, lost)
    }

    /// Folds groups into others until there are few enough: those that matter the least first.
    pub(super) fn cap(&mut self, levels: [[bool; N]; 2]) {
        for level in levels {
            let names = |group: &Arc<Group<N, V>>| group.key.iter().map(Text::len).sum::<usize>();
            let bytes: usize = self.groups.iter().map(names).sum();
            if self.groups.len() <= MOST_GROUPS && bytes <= MOST_NAMES {
                return;
            }
            let mut ranked: Vec<&Arc<Group<N, V>>> = self.groups.iter().collect();
            // Of equal ones the first by name stays.
            ranked.sort_by_key(|group| std::cmp::Reverse(group.whole.weight()));
            let mut room = MOST_NAMES / 2;
            let kept = ranked.iter().take(MOST_GROUPS / 2).take_while(|group| {
                let left = room.checked_sub(names(group));
                room = left.unwrap_or(0);
                left.is_some()
            });
            let kept: BTreeSet<[Text; N]> = kept.map(|group| group.key.clone()).collect();
            let mut sums: BTreeMap<[Text; N], (V, BTreeMap<u64, V>)> = BTreeMap::new();
            let mut stay = Vec::new();
            let mut gone = 0;
            for group in &self.groups {
                if kept.contains(&group.key) {
                    stay.push(Arc::clone(group));
                    continue;
                }
                gone += u64::from(!group.key.iter().any(|name| name == OTHER));
                let (whole, minutes) = sums.entry(folded(&group.key, level)).or_default();
                whole.merge(&group.whole);
                for (minute, value) in group.minutes(&ALL) {
                    put(minutes, &minute, &value);
                }
            }
            let mut all = Self {
                groups: stay,
                folded: 0,
            };
            let others = sums.into_iter().map(|(key, (whole, minutes))| Group {
                whole,
                ..Group::of(key, &minutes)
            });
            all.merge(&Self {
                groups: others.map(Arc::new).collect(),
                folded: 0,
            });
            self.groups = all.groups;
            self.folded += gone;
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.groups.iter().map(|group| group.bytes()).sum()
    }
}

/// The key of the group into which one goes.
pub(super) fn folded<const N: usize>(key: &[Text; N], level: [bool; N]) -> [Text; N] {
    let mut folded = key.clone();
    for (name, fold) in folded.iter_mut().zip(level) {
        if fold && !name.is_empty() {
            *name = Text::const_new(OTHER);
        }
    }
    folded
}
