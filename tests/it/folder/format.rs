//! `tests/formats/store-1`: a store as format 1 is written, which every later version opens.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dwindle::budget::Policy;
use dwindle::files::{Input, load};
use dwindle::ingest::{Config, Durable, Ingest, Pace, Setup, log};
use dwindle::model::{Nanos, TraceId};
use dwindle::otlp::Limits;
use dwindle::store::tables::Table;
use dwindle::store::{OpenError, Store};
use dwindle::telemetry::{Telemetry, clock};

use super::{chain, height, open, options, requests, stored};
use crate::durable::{batch, eventually, offer, pair, quick, quiet, spans_of};
use crate::spans::trace_id;
use crate::support;

fn fixture() -> PathBuf {
    support::root().join("tests/formats/store-1")
}

pub(super) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), &to).unwrap();
        }
    }
}

fn copied() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    copy(&fixture(), folder.path());
    folder
}

fn ingest(dir: &Path, config: Config) -> Ingest {
    let setup = Setup {
        config,
        policy: Policy::default(),
        store: Arc::new(open(dir)),
        telemetry: Arc::new(Telemetry::new()),
        clock: || Nanos(clock::monotonic_nanos()),
        analyse: dwindle::budget::analyse,
        threads: 1,
        log: Some(Durable {
            dir: dir.join("log"),
            options: log::Options::default(),
            pace: Pace {
                after: Nanos::from_secs(100_000),
                ..Pace::default()
            },
        }),
    };
    let ingest = Ingest::start(setup).unwrap();
    eventually("the replay", || ingest.has_replayed());
    ingest
}

/// The trace of sample 02.
fn sample() -> TraceId {
    "ebf73bbcbf7bf80f0d1cdec58b77022e".parse().unwrap()
}

/// Made it once. A later format gets a folder of its own; this one stays.
#[test]
#[ignore = "writes the files of the test below"]
fn the_folder_of_format_1() {
    let dir = fixture();
    assert!(!dir.exists(), "{} stays as it is", dir.display());
    let store = open(&dir);
    let file = support::root().join("sample-traces/02-deadline-passed-on.json");
    let inputs = [Input::from_argument(file)];
    let loaded = load(&inputs, &Limits::default(), &mut |_, _| {});
    for trace in loaded.traces {
        store.put(stored(trace, 1));
    }
    store.put(stored(chain(1, 0, 2), 1));
    store.flush().unwrap();
    store.put(stored(chain(1, 0, 3), 2));
    store.flush().unwrap();
    drop(store);
    let slow = Config {
        quiet: Nanos::from_secs(1_000),
        ..Config::default()
    };
    offer(&ingest(&dir, slow), batch(pair(9))).unwrap();
}

#[test]
fn a_store_of_format_1_opens_and_has_its_rows() {
    let folder = copied();
    let check = |store: &Store| {
        let snapshot = store.snapshot();
        let rows = requests(&snapshot);
        let of = |id: TraceId| {
            let mut rows = rows
                .iter()
                .filter(|((trace, _), _)| *trace == id.to_string());
            rows.next().map(|(_, row)| *row)
        };
        assert_eq!(rows.len(), 2);
        assert_eq!(of(trace_id(1)), Some((2, 3)), "revision and spans");
        assert_eq!(of(sample()), Some((1, 6)), "revision and spans");
        let heights = Table::ALL.map(|table| height(&snapshot, table));
        assert_eq!(heights, [2, 6, 4, 11, 2, 9]);
        assert_eq!(
            store.get(trace_id(1)).unwrap().unwrap().trace.spans,
            chain(1, 0, 3).spans
        );
        let verified = store.verify().unwrap();
        assert!(verified.is_clean(), "{verified:?}");
    };
    check(&Store::open_to_read(folder.path(), options()).unwrap());
    check(&open(folder.path()));
    // Its log has a trace that is in no part.
    let ingest = ingest(folder.path(), quick());
    quiet(&ingest);
    assert_eq!(spans_of(ingest.store(), 9), pair(9));
    assert_eq!(ingest.telemetry().spans_replayed.get(), 2);
    let store = Arc::clone(ingest.store());
    drop(ingest);
    store.flush().unwrap();
    store.compact(None).unwrap();
    assert_eq!(requests(&store.snapshot()).len(), 3);
    assert_eq!(height(&store.snapshot(), Table::Spans), 11);
    assert!(store.verify().unwrap().is_clean());
}

#[test]
fn a_store_of_a_later_format_is_refused_by_its_number() {
    let folder = copied();
    let manifest = folder.path().join("manifest.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    let later = text.replacen("\"format\": 1", "\"format\": 7", 1);
    assert_ne!(text, later);
    std::fs::write(&manifest, later).unwrap();
    for opened in [Store::open, Store::open_to_read] {
        let error = opened(folder.path(), options()).unwrap_err();
        assert!(matches!(error, OpenError::Newer { format: 7, .. }));
        let text = error.to_string();
        let named = text.contains("format 7") && text.contains("up to format 1");
        assert!(named && text.contains("use a newer one"), "{text}");
    }
    assert_eq!(
        super::files(folder.path(), "parquet").len(),
        super::files(&fixture(), "parquet").len()
    );
}
