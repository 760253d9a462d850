//! How times are spread, in few bytes.

use std::fmt;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::ser::SerializeSeq as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Each power of two is cut into so many buckets of one width.
const PER_OCTAVE: u64 = 1 << SHIFT;
const SHIFT: u32 = 6;

/// Values that wait before they are counted.
const PENDING: usize = 4096;

/// Counts of values, by bucket. Values below 64 have a bucket each; from there on a bucket is a
/// 64th of its power of two wide, and stands for its middle: **a percentile is at most 1/128
/// (0.79 %) off the value that has this rank**, and on the same side of zero. Histograms add up and
/// are taken from each other without a further error: two that were merged are the histogram of
/// all their values, in whichever order and however often they were cut.
#[derive(Debug, Clone, Default)]
pub struct Histogram {
    /// By bucket, in order; no count is 0.
    buckets: Vec<(i16, u64)>,
    pending: Vec<i16>,
}

/// The bucket of a value; the larger the value, the larger the bucket.
fn bucket_of(value: i64) -> i16 {
    let size = value.unsigned_abs();
    let bucket = if size < PER_OCTAVE {
        size
    } else {
        let octave = u64::from(size.ilog2() - SHIFT);
        (octave + 1) * PER_OCTAVE + (size >> octave) % PER_OCTAVE
    };
    // At most 64 * 59.
    let bucket = bucket as i16;
    if value < 0 { -bucket } else { bucket }
}

/// The first and the last size of a bucket that is not negative.
fn sizes(bucket: u64) -> (u64, u64) {
    if bucket < PER_OCTAVE {
        return (bucket, bucket);
    }
    let octave = (bucket / PER_OCTAVE - 1).min(57);
    let first = (PER_OCTAVE + bucket % PER_OCTAVE) << octave;
    (first, first.saturating_add((1 << octave) - 1))
}

/// What a bucket stands for.
fn middle(bucket: i16) -> i64 {
    let (first, last) = sizes(u64::from(bucket.unsigned_abs()));
    let middle = i64::try_from(first.midpoint(last)).unwrap_or(i64::MAX);
    if bucket < 0 { -middle } else { middle }
}

impl Histogram {
    /// The most that a percentile is off, as one part of so many.
    pub const ERROR: u64 = 128;

    /// Counts a value.
    pub fn add(&mut self, value: i64) {
        self.pending.push(bucket_of(value));
        if self.pending.len() >= PENDING {
            self.settle();
        }
    }

    /// Counts what waits. Until then it is not seen.
    pub(super) fn settle(&mut self) {
        let mut pending = std::mem::take(&mut self.pending);
        pending.sort_unstable();
        let runs = pending.chunk_by(|a, b| a == b);
        let runs = runs.filter_map(|run| Some((*run.first()?, run.len() as u64)));
        let counted: Vec<(i16, u64)> = runs.collect();
        self.combine(&counted, u64::saturating_add);
    }

    /// Adds the values of another.
    pub fn merge(&mut self, other: &Self) {
        self.combine(&other.buckets, u64::saturating_add);
    }

    /// Takes the values of another away, of which all should be here.
    pub(super) fn subtract(&mut self, other: &Self) {
        self.combine(&other.buckets, u64::saturating_sub);
    }

    fn combine(&mut self, others: &[(i16, u64)], work: fn(u64, u64) -> u64) {
        if others.is_empty() {
            return;
        }
        let mut combined = Vec::with_capacity(self.buckets.len() + others.len());
        let (mut mine, mut theirs) = (self.buckets.as_slice(), others);
        loop {
            let (bucket, a, b) = match (mine.split_first(), theirs.split_first()) {
                (Some(((bucket, a), rest)), other) if other.is_none_or(|(o, _)| bucket < &o.0) => {
                    mine = rest;
                    (*bucket, *a, 0)
                }
                (Some(((bucket, a), rest)), Some((other, others))) if *bucket == other.0 => {
                    (mine, theirs) = (rest, others);
                    (*bucket, *a, other.1)
                }
                (_, Some(((bucket, b), rest))) => {
                    theirs = rest;
                    (*bucket, 0, *b)
                }
                (_, None) => break,
            };
            let count = work(a, b);
            if count > 0 {
                combined.push((bucket, count));
            }
        }
        self.buckets = combined;
    }

    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| count).sum()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }

    /// About the least value that at least `percent` of all do not exceed.
    pub fn percentile(&self, percent: u64) -> Option<i64> {
        let rank = (u128::from(self.count()) * u128::from(percent)).div_ceil(100);
        let rank = rank.max(1);
        let mut passed = 0;
        let mut buckets = self.buckets.iter();
        let reached = buckets.find(|(_, count)| {
            passed += u128::from(*count);
            passed >= rank
        });
        reached.map(|(bucket, _)| middle(*bucket))
    }

    /// Buckets from the least to the greatest: what they stand for, and how many values.
    pub fn buckets(&self) -> impl Iterator<Item = (i64, u64)> {
        let buckets = self.buckets.iter();
        buckets.map(|(bucket, count)| (middle(*bucket), *count))
    }

    /// About how many bytes it takes in memory.
    pub(super) fn bytes(&self) -> usize {
        self.buckets.capacity() * size_of::<(i16, u64)>()
    }
}

impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        let settled = |one: &Self| {
            let mut one = one.clone();
            one.settle();
            one.buckets
        };
        settled(self) == settled(other)
    }
}

impl Serialize for Histogram {
    /// Each bucket by its distance from the one before.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.buckets.len()))?;
        let mut last = 0;
        for (bucket, count) in &self.buckets {
            list.serialize_element(&(bucket - last, count))?;
            last = *bucket;
        }
        list.end()
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Buckets;

        impl<'de> Visitor<'de> for Buckets {
            type Value = Histogram;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the buckets of a histogram")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Histogram, A::Error> {
                let most = usize::from(u16::MAX) / 8;
                let room = list.size_hint().unwrap_or(0).min(most);
                let mut buckets: Vec<(i16, u64)> = Vec::with_capacity(room);
                let mut last = 0_i16;
                while let Some((step, count)) = list.next_element::<(i16, u64)>()? {
                    last = last.checked_add(step).ok_or_else(|| {
                        A::Error::custom("a bucket of a histogram is out of range")
                    })?;
                    if buckets.last().is_some_and(|(before, _)| *before >= last) {
                        return Err(A::Error::custom("the buckets are not in order"));
                    }
                    buckets.push((last, count));
                }
                Ok(Histogram {
                    buckets,
                    pending: Vec::new(),
                })
            }
        }

        deserializer.deserialize_seq(Buckets)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(values: &[i64]) -> Histogram {
        let mut histogram = Histogram::default();
        for value in values {
            histogram.add(*value);
        }
        histogram.settle();
        histogram
    }

    /// The value of that rank.
    fn exact(values: &[i64], percent: u64) -> i64 {
        let mut values = values.to_vec();
        values.sort_unstable();
        let rank = (values.len() * percent as usize).div_ceil(100).max(1);
        values[rank - 1]
    }

    fn times() -> impl Strategy<Value = i64> {
        prop_oneof![
            -200_i64..200,
            0_i64..10_000_000_000,
            -10_000_000_000_i64..0,
            any::<i64>(),
        ]
    }

    #[test]
    fn small_values_are_exact_and_the_ends_have_a_bucket() {
        let all: Vec<i64> = (-63..64).collect();
        let histogram = of(&all);
        assert!(histogram.buckets().map(|(value, _)| value).eq(-63..64));
        for value in [i64::MIN, i64::MAX] {
            let found = of(&[value]).percentile(50).unwrap();
            let off = found.abs_diff(value);
            assert!(
                off <= value.unsigned_abs() / Histogram::ERROR + 1,
                "{value} {found}"
            );
        }
        assert_eq!(of(&[]).percentile(50), None);
    }

    proptest! {
        #[test]
        fn a_percentile_is_within_the_stated_error(values in prop::collection::vec(times(), 1..200), percent in 1_u64..=100) {
            let (found, exact) = (of(&values).percentile(percent).unwrap(), exact(&values, percent));
            prop_assert!(found.abs_diff(exact) <= exact.unsigned_abs() / Histogram::ERROR, "{found} {exact}");
            prop_assert!(found.signum() == exact.signum());
        }

        #[test]
        fn however_values_are_cut_their_sum_is_one(a in prop::collection::vec(times(), 0..60), b in prop::collection::vec(times(), 0..60), c in prop::collection::vec(times(), 0..60)) {
            let all = of(&[a.clone(), b.clone(), c.clone()].concat());
            let merged = |order: [&Vec<i64>; 3]| {
                let mut sum = Histogram::default();
                for values in order {
                    sum.merge(&of(values));
                }
                sum
            };
            prop_assert_eq!(&merged([&a, &b, &c]), &all);
            prop_assert_eq!(&merged([&c, &a, &b]), &all);
            let mut right = of(&b);
            right.merge(&of(&c));
            let mut sum = of(&a);
            sum.merge(&right);
            prop_assert_eq!(&sum, &all);
            sum.subtract(&of(&b));
            prop_assert_eq!(&sum, &of(&[a, c].concat()));
        }

        #[test]
        fn it_comes_back_from_its_bytes(values in prop::collection::vec(times(), 0..100)) {
            let histogram = of(&values);
            let bytes = postcard::to_stdvec(&histogram).unwrap();
            prop_assert_eq!(postcard::from_bytes::<Histogram>(&bytes).unwrap(), histogram);
        }
    }
}
