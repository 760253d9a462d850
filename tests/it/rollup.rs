//! Sums over requests are the same whichever way the requests lie in parts and memory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dwindle::budget::{Policy, Typical, analyse};
use dwindle::files::{self, Input};
use dwindle::ingest::{Config, add};
use dwindle::model::{Nanos, Outcome, Rule, Trace, TraceId, UnixNanos, Value};
use dwindle::otlp::Limits;
use dwindle::store::rollup::{Finding, MINUTE, Minutes, Sums, Top, Wanted, count_of};
use dwindle::store::{Store, Stored};
use polars::prelude::{ParquetReader, SerReader as _};
use proptest::prelude::*;

use crate::folder::{HOUR, open, options};
use crate::spans::{START, span, trace_id};
use crate::support;

/// All that there is.
const ALL: Minutes = 0..u64::MAX;

fn samples() -> Vec<Trace> {
    let inputs: Vec<Input> = support::samples().into_iter().map(Input::Path).collect();
    let loaded = files::load(&inputs, &Limits::default(), &mut |_, _| {});
    loaded.traces
}

/// A sample as trace `number`, that much later, its root so much longer.
fn again(sample: &Trace, number: u16, later: u64, longer: u64) -> Stored {
    let mut trace = sample.clone();
    trace.id.0[..2].copy_from_slice(&number.to_be_bytes());
    for span in &mut trace.spans {
        span.trace_id = trace.id;
        span.start.0 += later;
        span.end.0 += later + if span.parent_id.is_none() { longer } else { 0 };
    }
    trace.logs.clear();
    let analysis = analyse(&trace, &Policy::default(), &Typical::default());
    Stored {
        trace: Arc::new(trace),
        analysis: Arc::new(analysis),
        sample: false,
        log_from: u64::MAX,
    }
}

/// The sums of these traces, added up at once.
fn at_once<'a>(stored: impl Iterator<Item = &'a Stored>, within: &Minutes) -> Sums {
    let store = Store::in_memory(usize::MAX, usize::MAX);
    stored.for_each(|stored| drop(store.put(stored.clone())));
    store.snapshot().sums(within, &Wanted::all()).unwrap()
}

fn sums(store: &Store, within: &Minutes) -> Sums {
    store.snapshot().sums(within, &Wanted::all()).unwrap()
}

/// Without examples, of which the next best of a minute may be missing.
fn without_examples(mut sums: Sums) -> Sums {
    for requests in sums.requests.values_mut() {
        (requests.worst, requests.newest) = (Top::default(), Top::default());
    }
    for finding in sums.findings.values_mut() {
        (finding.worst, finding.newest) = (Top::default(), Top::default());
        finding.oldest = Top::default();
    }
    for broken in sums.breaks.values_mut() {
        broken.newest = Top::default();
    }
    sums
}

#[derive(Debug, Clone)]
enum Step {
    /// Puts a sample as trace `number`: a new one, or a new state of one that is there.
    Put {
        number: u16,
        later: u64,
        longer: u64,
    },
    Flush,
    Compact,
    Reopen,
    /// Asks, so that what was worked out so far is at hand when it changes.
    Ask,
    /// Takes a summary away, or changes a byte of it.
    Spoil(bool),
}

fn step() -> impl Strategy<Value = Step> {
    let put = (0..14_u16, 0..2 * HOUR, 0..2_000_000_000_u64);
    let put = put.prop_map(|(number, later, longer)| Step::Put {
        // A later state of a trace is one of the same sample at the same time.
        later: later / HOUR * HOUR + u64::from(number) * 7 * MINUTE / 2,
        number,
        longer,
    });
    prop_oneof![
        12 => put,
        3 => Just(Step::Flush),
        1 => Just(Step::Compact),
        1 => Just(Step::Reopen),
        2 => Just(Step::Ask),
        1 => any::<bool>().prop_map(Step::Spoil),
    ]
}

fn summaries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder.join("index")) else {
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|end| end == "sum"))
        .collect();
    found.sort();
    found
}

fn flip(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(path, bytes).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn parts_and_memory_give_what_adding_at_once_gives(steps in prop::collection::vec(step(), 1..40), edge in 0..240_u64) {
        let samples = samples();
        let folder = tempfile::tempdir().unwrap();
        let mut store = open(folder.path());
        let mut newest: BTreeMap<TraceId, Stored> = BTreeMap::new();
        for step in steps {
            match step {
                Step::Put { number, later, longer } => {
                    let stored = again(&samples[usize::from(number) % samples.len()], number, later, longer);
                    newest.insert(stored.trace.id, stored.clone());
                    store.put(stored);
                }
                Step::Flush => drop(store.flush().unwrap()),
                Step::Compact => drop(store.compact(None).unwrap()),
                Step::Reopen => {
                    store.flush().unwrap();
                    drop(store);
                    store = open(folder.path());
                }
                Step::Ask => {
                    drop(sums(&store, &ALL));
                    store.snapshot().look_back(|| true).unwrap();
                }
                Step::Spoil(away) => for path in summaries(folder.path()).into_iter().step_by(2) {
                    if away { std::fs::remove_file(path).unwrap(); } else { flip(&path); }
                },
            }
        }
        let all = at_once(newest.values(), &ALL);
        let since = store.snapshot().since(&all.findings.keys().collect::<Vec<_>>()).unwrap();
        let first = |finding: &Finding| finding.oldest.first().unwrap().0.0.start;
        let wanted = all.findings.iter().map(|(names, finding)| (names.clone(), first(finding)));
        prop_assert_eq!(since, wanted.collect::<BTreeMap<_, _>>());
        prop_assert_eq!(sums(&store, &ALL), all);
        let starts = newest.values().flat_map(|stored| &stored.analysis.requests);
        let first = starts.map(|request| request.start.0 / MINUTE).min().unwrap_or(0);
        for within in [first + edge / 2..first + edge, first..first + 60, first + edge..u64::MAX] {
            let (found, wanted) = (sums(&store, &within), at_once(newest.values(), &within));
            prop_assert_eq!(without_examples(found), without_examples(wanted));
        }
        let series = store.snapshot().series(&(first..first + 200), 7, &Wanted::all()).unwrap();
        let mut together = Sums::default();
        for sums in &series {
            together.merge(sums);
        }
        prop_assert_eq!(without_examples(together), without_examples(sums(&store, &(first..first + 200))));
        let verified = store.verify().unwrap();
        prop_assert!(verified.strays.is_empty(), "{:?}", verified.strays);
    }
}

/// Twenty traces in two parts, one of them in a second state.
fn filled(folder: &Path) -> (Store, Vec<Stored>) {
    let samples = samples();
    let store = open(folder);
    let stored = |number: u16, longer| {
        let sample = &samples[usize::from(number) % samples.len()];
        again(sample, number, u64::from(number) * MINUTE, longer)
    };
    let mut all: Vec<Stored> = (0..20).map(|number| stored(number, 0)).collect();
    all.iter()
        .take(10)
        .for_each(|stored| drop(store.put(stored.clone())));
    store.flush().unwrap();
    all[3] = stored(3, 900_000_000);
    all.iter()
        .skip(10)
        .for_each(|stored| drop(store.put(stored.clone())));
    store.put(all[3].clone());
    store.flush().unwrap();
    (store, all)
}

#[test]
fn summaries_answer_without_rows_also_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let (store, all) = filled(folder.path());
    store.compact(None).unwrap();
    drop(store);
    // Rows cannot be read any more, and nobody needs them.
    for table in ["requests", "hops", "calls", "findings"] {
        std::fs::remove_dir_all(folder.path().join(table)).unwrap();
    }
    let store = Store::open_to_read(folder.path(), options()).unwrap();
    assert_eq!(sums(&store, &ALL), at_once(all.iter(), &ALL));
    assert!(store.snapshot().faults().is_empty());
}

#[test]
fn a_damaged_summary_is_told_and_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let (store, all) = filled(folder.path());
    drop(store);
    let files = summaries(folder.path());
    assert!(files.len() > 1, "{files:?}");
    let whole: Vec<Vec<u8>> = files
        .iter()
        .map(|file| std::fs::read(file).unwrap())
        .collect();
    flip(&files[0]);
    std::fs::remove_file(&files[1]).unwrap();
    let store = open(folder.path());
    let verified = store.verify().unwrap();
    assert_eq!(verified.faults.len(), 1, "{:?}", verified.faults);
    assert!(verified.faults[0].starts_with(&files[0].display().to_string()));
    assert_eq!(sums(&store, &ALL), at_once(all.iter(), &ALL));
    assert!(store.verify().unwrap().is_clean());
    let again: Vec<Vec<u8>> = files
        .iter()
        .map(|file| std::fs::read(file).unwrap())
        .collect();
    assert!(again == whole);
    // One of another part is found by its counts.
    std::fs::copy(&files[0], &files[1]).unwrap();
    assert_eq!(store.verify().unwrap().faults.len(), 1);
    // One that another version made is no damage.
    drop(store);
    let mut other = whole[1].clone();
    other[7] = b'1';
    std::fs::write(&files[1], &other).unwrap();
    let store = open(folder.path());
    assert_eq!(store.verify().unwrap().faults.len(), 1);
    let body = other.len() - 8;
    let sum = xxhash_rust::xxh3::xxh3_64(&other[..body]);
    other[body..].copy_from_slice(&sum.to_le_bytes());
    std::fs::write(&files[1], &other).unwrap();
    assert!(store.verify().unwrap().is_clean());
    assert_eq!(sums(&store, &ALL), at_once(all.iter(), &ALL));
    assert!(std::fs::read(&files[1]).unwrap() == whole[1]);
}

#[test]
fn what_is_merged_or_removed_takes_its_summary_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let (store, all) = filled(folder.path());
    let before = summaries(folder.path());
    store.compact(None).unwrap();
    let after = summaries(folder.path());
    assert!(
        after.len() < before.len() && !after.is_empty(),
        "{before:?} {after:?}"
    );
    assert!(before.iter().all(|file| !file.exists()));
    assert_eq!(sums(&store, &ALL), at_once(all.iter(), &ALL));
    let everything = dwindle::store::Retention {
        max_age: Some(std::time::Duration::ZERO),
        ..Default::default()
    };
    store.prune_to(UnixNanos(u64::MAX), &everything).unwrap();
    assert!(summaries(folder.path()).is_empty());
    assert_eq!(sums(&store, &ALL), Sums::default());
}

#[test]
fn counts_are_those_of_the_requests() {
    let samples = samples();
    let stored: Vec<Stored> = (0..samples.len() as u16)
        .map(|number| again(&samples[usize::from(number)], number, 0, 0))
        .collect();
    let sums = at_once(stored.iter(), &ALL);
    let requests: Vec<_> = stored
        .iter()
        .flat_map(|stored| &stored.analysis.requests)
        .collect();
    let all = sums.all();
    assert_eq!(all.all, requests.len() as u64);
    for outcome in Outcome::ALL {
        let of = requests.iter().filter(|request| request.outcome == outcome);
        assert_eq!(
            count_of(&all.outcomes, &Outcome::ALL, &outcome),
            of.count() as u64
        );
    }
    let wasted: i128 = requests
        .iter()
        .map(|request| i128::from(request.wasted.0))
        .sum();
    assert_eq!(all.wasted, wasted);
    let passed = requests
        .iter()
        .map(|request| dwindle::query::facts::propagation(request));
    let (mut told, mut calls) = (0, 0);
    for one in passed {
        told += one.told as u64;
        calls += one.calls as u64;
    }
    let edges = |count: fn(&dwindle::store::rollup::Passed) -> u64| -> u64 {
        sums.edges.values().map(count).sum()
    };
    assert_eq!(edges(|passed| passed.told), told);
    assert_eq!(edges(|passed| passed.told + passed.not_told), calls);
    assert!(told > 0 && calls > told);
    let held = |missed: bool| -> i128 {
        let requests = requests
            .iter()
            .filter(|one| (one.outcome == Outcome::Missed) == missed);
        let culprits = requests.filter_map(|request| request.culprit.as_ref());
        culprits.map(|culprit| i128::from(culprit.consumed.0)).sum()
    };
    assert_eq!(
        sums.culprits.values().map(|one| one.taken).sum::<i128>(),
        held(true)
    );
    assert_eq!(
        sums.culprits
            .values()
            .map(|one| one.others_taken)
            .sum::<i128>(),
        held(false)
    );
    let missed = requests.iter().filter(|one| one.outcome == Outcome::Missed);
    let spent = missed.flat_map(|one| &one.ledger);
    let spent: i128 = spent
        .map(|row| i128::from(row.time.0 - row.after_deadline.0))
        .sum();
    assert!(spent > 0);
    assert_eq!(
        sums.culprits.values().map(|one| one.held).sum::<i128>(),
        spent
    );
    let hops: usize = requests.iter().map(|request| request.hops.len()).sum();
    assert_eq!(
        sums.hops.values().map(|hop| hop.runs).sum::<u64>(),
        hops as u64
    );
    assert_eq!(
        sums.hops.values().map(|hop| hop.roots).sum::<u64>(),
        all.all
    );
    let findings = requests.iter().flat_map(|request| &request.findings);
    let cases: u64 = findings.map(|finding| finding.evidence.count.max(1)).sum();
    assert_eq!(
        sums.findings
            .values()
            .map(|finding| finding.count)
            .sum::<u64>(),
        cases
    );
}

/// A run of 10 ms that was given 400 ms, in that many hours.
fn generous(number: u64, hours: u64) -> Stored {
    let mut span = span(number, 1, None);
    span.start.0 += hours * HOUR;
    span.end.0 = span.start.0 + 10_000_000;
    span.attributes
        .0
        .push(("deadline.remaining_in_ms".into(), Value::Int(400)));
    let trace = Trace {
        id: trace_id(number),
        spans: vec![span],
        logs: Vec::new(),
    };
    let analysis = analyse(&trace, &Policy::default(), &Typical::default());
    Stored {
        trace: Arc::new(trace),
        analysis: Arc::new(analysis),
        sample: false,
        log_from: u64::MAX,
    }
}

#[test]
fn twenty_successful_runs_tell_what_is_typical_also_after_a_restart() {
    const DAY: Nanos = Nanos::from_secs(86_400);
    let now = UnixNanos(START + 100 * HOUR);
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    for number in 0..19 {
        store.put(generous(number, 0));
    }
    store.flush().unwrap();
    store.learn(now, DAY, true).unwrap();
    assert_eq!(*store.typical(), Typical::default());
    store.put(generous(19, 0));
    store.flush().unwrap();
    store.learn(now, DAY, true).unwrap();
    let typical = store.typical();
    let (key, hop) = typical.hops.first_key_value().unwrap();
    assert_eq!(
        (key.0.as_str(), key.1.as_str(), hop.runs),
        ("shop", "GET /cart", 20)
    );
    assert!(
        (hop.median.0 - 10_000_000).abs() <= 10_000_000 / 128,
        "{hop:?}"
    );
    assert_eq!(typical.local.get(key).map(|own| own.runs), Some(20));

    // The rows say what was known when they were made; what is read back is analysed with it.
    let rules = |store: &Store| -> Vec<Rule> {
        let stored = store.get(trace_id(3)).unwrap().unwrap();
        let requests = stored.analysis.requests.iter();
        let findings = requests.flat_map(|request| &request.findings);
        findings.map(|finding| finding.rule).collect()
    };
    assert!(rules(&store).contains(&Rule::OverProvisioned));
    drop(store);
    let store = open(folder.path());
    assert!(!rules(&store).contains(&Rule::OverProvisioned));
    store.learn(now, DAY, false).unwrap();
    assert_eq!(store.typical(), typical);
    assert!(rules(&store).contains(&Rule::OverProvisioned));
    // The commands know them, too.
    let data = folder.path().to_str().unwrap();
    let id = trace_id(3).to_string();
    let told = support::run(&["trace", "--id", &id, "--data", data, "--format", "json"]);
    let told = support::stdout(&told);
    assert!(told.contains("over_provisioned"), "{told}");
    let tables = tempfile::tempdir().unwrap();
    let to = tables.path().to_str().unwrap();
    let export = ["store", "export", "--data", data, "--to", "parquet"];
    let export = support::run(&[&export[..], &["-o", to]].concat());
    assert_eq!(support::code(&export), 0, "{}", support::stderr(&export));
    let findings = std::fs::File::open(tables.path().join("findings.parquet")).unwrap();
    let findings = ParquetReader::new(findings).finish().unwrap();
    let found = findings.column("rule").unwrap().str().unwrap().iter();
    let found = found.filter(|rule| *rule == Some("over_provisioned"));
    assert_eq!(found.count(), 20);

    // A day before the newest request they are forgotten.
    store.put(generous(100, 30));
    store.flush().unwrap();
    store.learn(now, DAY, true).unwrap();
    assert_eq!(*store.typical(), Typical::default());
    store.learn(now, DAY + DAY, true).unwrap();
    assert_eq!(store.typical().hops.len(), 1);
}

#[test]
fn what_comes_is_analysed_with_what_is_typical() {
    let store = Arc::new(Store::in_memory(usize::MAX, usize::MAX));
    for number in 0..20 {
        store.put(generous(number, 0));
    }
    let config = Config::default();
    let later = generous(50, 0);
    let put = || {
        let trace = Trace::clone(&later.trace);
        add(&store, &Policy::default(), &config, trace).unwrap();
        let stored = store.get(trace_id(50)).unwrap().unwrap();
        let findings = stored.analysis.requests[0].findings.iter();
        let found = findings.filter(|finding| finding.rule == Rule::OverProvisioned);
        found.count()
    };
    store
        .learn(UnixNanos(START + HOUR), Nanos::from_secs(3600), true)
        .unwrap();
    assert_eq!(put(), 1);
}
