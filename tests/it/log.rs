//! The durable log: what is committed comes back, whatever happens to its files.

use std::fs::{self, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use dwindle::ingest::log::{
    self, Commit, Damage, Durability, Kind, Log, LogError, NotTaken, Options, Record, Replayed,
};
use dwindle::telemetry::Telemetry;
use tempfile::TempDir;

const LONG: Duration = Duration::from_secs(20);

struct Opened {
    log: Log<u64>,
    commits: Receiver<Commit<u64>>,
    telemetry: Arc<Telemetry>,
    replayed: Vec<(u64, Record)>,
    damages: Vec<Damage>,
    missing: u64,
}

fn open(dir: &Path, change: impl FnOnce(&mut Options)) -> Result<Opened, LogError> {
    let mut options = Options {
        segment_bytes: 1_000,
        ..Options::default()
    };
    change(&mut options);
    let telemetry = Arc::new(Telemetry::new());
    let (sender, commits) = channel();
    let deliver = move |commit| drop(sender.send(commit));
    let (log, replay) = Log::open(dir, options, Arc::clone(&telemetry), deliver)?;
    let (mut replayed, mut damages, mut missing) = (Vec::new(), Vec::new(), 0);
    for item in replay {
        match item {
            Replayed::Record(seq, record) => replayed.push((seq, record)),
            Replayed::Damage(damage) => damages.push(damage),
            Replayed::Missing(records) => missing += records,
        }
    }
    Ok(Opened {
        log,
        commits,
        telemetry,
        replayed,
        damages,
        missing,
    })
}

fn record(n: u64) -> Record {
    let text = format!("record {n} ").repeat(20);
    Record {
        kind: if n.is_multiple_of(3) {
            Kind::Logs
        } else {
            Kind::Traces
        },
        bytes: Bytes::from(text),
    }
}

impl Opened {
    /// Appends one and waits for its commit.
    fn append(&self, n: u64) -> Result<u64, NotTaken> {
        let taken = self.log.append(vec![record(n)], n);
        taken.map_err(|(why, ticket)| {
            assert_eq!(ticket, n);
            why
        })?;
        loop {
            let commit = self.commits.recv_timeout(LONG).unwrap();
            if !commit.tickets.is_empty() {
                assert_eq!(commit.tickets, [(n, 1)]);
                return commit.result.map(|seqs| seqs.start);
            }
        }
    }
}

/// A log of records 1 to `count` in small segments; the files in order.
fn filled(count: u64) -> (TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path(), |_| {}).unwrap();
    for n in 1..=count {
        assert_eq!(log.append(n), Ok(n));
    }
    drop(log);
    let files = segments(folder.path());
    (folder, files)
}

fn segments(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn seqs(log: &Opened) -> Vec<u64> {
    for (seq, found) in &log.replayed {
        assert_eq!(*found, record(*seq));
    }
    log.replayed.iter().map(|(seq, _)| *seq).collect()
}

fn flip(file: &Path, at: u64) {
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(file)
        .unwrap();
    let mut byte = [0];
    file.seek(SeekFrom::Start(at)).unwrap();
    file.read_exact(&mut byte).unwrap();
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(&[byte[0] ^ 0x10]).unwrap();
}

fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + LONG;
    while !holds() {
        assert!(Instant::now() < until, "never came: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn what_is_committed_comes_back_in_order_in_both_modes() {
    for durability in [Durability::Sync, Durability::Os] {
        let folder = tempfile::tempdir().unwrap();
        let log = open(folder.path(), |o| o.durability = durability).unwrap();
        assert!(seqs(&log).is_empty());
        for n in 1..=30 {
            assert_eq!(log.append(n), Ok(n));
        }
        assert_eq!(log.log.size().records, 30);
        drop(log);
        let mut log = open(folder.path(), |_| {}).unwrap();
        assert_eq!(seqs(&log), (1..=30).collect::<Vec<_>>());
        assert!(segments(folder.path()).len() > 3);
        // It goes on where it was, and again.
        assert_eq!(log.append(31), Ok(31));
        drop(log);
        log = open(folder.path(), |_| {}).unwrap();
        assert_eq!(seqs(&log), (1..=31).collect::<Vec<_>>());
        assert_eq!(log.damages, []);
    }
}

#[test]
fn what_waits_together_is_committed_together_and_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let (sender, commits) = channel();
    let gate = Arc::new(Mutex::new(()));
    let held = gate.lock().unwrap();
    let deliver = {
        let gate = Arc::clone(&gate);
        move |commit: Commit<u64>| {
            drop(gate.lock().unwrap());
            sender.send(commit).unwrap();
        }
    };
    let telemetry = Arc::new(Telemetry::new());
    let options = Options::default();
    let (log, _) = Log::open(folder.path(), options, Arc::clone(&telemetry), deliver).unwrap();
    // The first keeps the thread; ten more of two records each wait for it.
    log.append(vec![record(1)], 0).unwrap();
    eventually("the first commit", || telemetry.log_commits.get() == 1);
    for ticket in 1..=10 {
        log.append(vec![record(1), record(2)], ticket).unwrap();
    }
    drop(held);
    let first = commits.recv_timeout(LONG).unwrap();
    assert_eq!(first.result, Ok(1..2));
    let second = commits.recv_timeout(LONG).unwrap();
    assert_eq!(second.result, Ok(2..22));
    let expected: Vec<(u64, u64)> = (1..=10).map(|ticket| (ticket, 2)).collect();
    assert_eq!(second.tickets, expected);
    assert_eq!(telemetry.log_commits.get(), 2);
    assert_eq!(telemetry.log_records.get(), 21);
    assert!(
        telemetry
            .render()
            .contains("\ndwindle_log_fsync_seconds_count 2\n")
    );
}

#[test]
fn a_truncated_end_costs_only_what_is_cut() {
    let (folder, files) = filled(20);
    let (last, before) = files.split_last().unwrap();
    let whole = fs::read(last).unwrap();
    let held_before = {
        let mut seqs = Vec::new();
        for file in before {
            let name = file.file_stem().unwrap().to_str().unwrap().parse::<u64>();
            seqs.push(name.unwrap());
        }
        seqs
    };
    let first_of_last: u64 = last.file_stem().unwrap().to_str().unwrap().parse().unwrap();
    assert!(held_before.len() > 2 && first_of_last < 20);
    for length in (0..whole.len()).step_by(13) {
        let copy = tempfile::tempdir().unwrap();
        for file in before {
            fs::copy(file, copy.path().join(file.file_name().unwrap())).unwrap();
        }
        let cut = copy.path().join(last.file_name().unwrap());
        let mut file = fs::File::create(&cut).unwrap();
        file.write_all(&whole[..length]).unwrap();
        let log = open(copy.path(), |_| {}).unwrap();
        let found = seqs(&log);
        let expected: Vec<u64> = (1..=found.len() as u64).collect();
        assert_eq!(found, expected, "{length}");
        assert!(found.len() as u64 >= first_of_last - 1, "{length}");
        assert_eq!(log.damages, [], "{length}");
        // The next one takes the place of what was cut off.
        let next = found.len() as u64 + 1;
        assert_eq!(log.append(next), Ok(next), "{length}");
        drop(log);
        if length % 5 == 0 {
            let log = open(copy.path(), |_| {}).unwrap();
            assert_eq!(seqs(&log).len() as u64, next, "{length}");
            assert_eq!(log.damages, [], "{length}");
            assert_eq!(log.telemetry.log_torn_bytes.get(), 0);
        }
    }
    drop(folder);
}

#[test]
fn zeros_or_garbage_at_the_end_are_cut_off_and_counted() {
    for rest in [vec![0; 3_000], vec![0xa5; 100], b"dwR\x01".to_vec()] {
        let (folder, files) = filled(9);
        let last = files.last().unwrap();
        let mut file = OpenOptions::new().append(true).open(last).unwrap();
        file.write_all(&rest).unwrap();
        let log = open(folder.path(), |_| {}).unwrap();
        assert_eq!(seqs(&log), (1..=9).collect::<Vec<_>>());
        assert_eq!(log.damages, []);
        assert_eq!(log.telemetry.log_torn_bytes.get(), rest.len() as u64);
    }
}

#[test]
fn a_damaged_middle_is_told_by_name_and_costs_what_it_hit() {
    let (folder, files) = filled(20);
    let second = &files[1];
    let length = fs::metadata(second).unwrap().len();
    for at in (0..length).step_by(11) {
        flip(second, at);
        let log = open(folder.path(), |_| {}).unwrap();
        let found = seqs(&log);
        assert_eq!(log.damages.len(), 1, "{at}: {:?}", log.damages);
        let damage = &log.damages[0];
        assert_eq!(damage.file, *second);
        assert!(
            damage.at <= at && at < damage.at + damage.bytes,
            "{at}: {damage}"
        );
        assert!(damage.to_string().contains(".log`, bytes "), "{damage}");
        // The header of a segment is of no record.
        let lost = usize::from(at >= 40);
        assert_eq!(found.len(), 20 - lost, "{at}: {found:?}");
        drop(log);
        flip(second, at);
    }
    let log = open(folder.path(), |_| {}).unwrap();
    assert_eq!(seqs(&log).len(), 20);
    drop(log);
    fs::remove_file(second).unwrap();
    let log = open(folder.path(), |_| {}).unwrap();
    let found = seqs(&log).len() as u64;
    assert!(found > 10);
    assert_eq!((log.missing, log.damages.len()), (20 - found, 0));
}

#[test]
fn who_only_looks_is_told_the_same_and_changes_nothing() {
    let (folder, files) = filled(20);
    let contents = || -> Vec<Vec<u8>> {
        files
            .iter()
            .filter_map(|file| fs::read(file).ok())
            .collect()
    };
    let looked = log::look(folder.path()).unwrap();
    assert_eq!((looked.records, looked.missing), (20, 0));
    assert_eq!((looked.damage.len(), looked.torn), (0, None));
    let records: u64 = looked.bytes - 40 * looked.segments;
    assert_eq!(log::waiting(folder.path()).unwrap(), records);
    flip(&files[1], 100);
    let last = files.last().unwrap();
    let length = fs::metadata(last).unwrap().len();
    OpenOptions::new()
        .write(true)
        .open(last)
        .unwrap()
        .set_len(length - 3)
        .unwrap();
    let before = contents();
    let looked = log::look(folder.path()).unwrap();
    assert_eq!(
        (looked.records, looked.missing, looked.damage.len()),
        (18, 0, 1)
    );
    assert_eq!(looked.damage[0].file, files[1]);
    assert_eq!(looked.torn.unwrap().file, *last);
    assert_eq!(contents(), before);
    flip(&files[1], 100);
    fs::remove_file(&files[1]).unwrap();
    let looked = log::look(folder.path()).unwrap();
    assert_eq!(
        (looked.records + looked.missing, looked.damage.len()),
        (19, 0)
    );
    assert!(looked.missing > 0);
    assert_eq!(
        log::look(&folder.path().join("none")).unwrap(),
        log::Looked::default()
    );
}

#[test]
fn segments_go_whole_once_nothing_in_them_is_needed() {
    let (folder, files) = filled(20);
    assert!(files.len() > 3);
    let log = open(folder.path(), |_| {}).unwrap();
    let third: u64 = files[2]
        .file_stem()
        .unwrap()
        .to_str()
        .unwrap()
        .parse()
        .unwrap();
    log.log.cut(third - 1).unwrap();
    let left = segments(folder.path());
    assert!(!left.contains(&files[0]) && left.contains(&files[1]));
    log.log.cut(third).unwrap();
    assert!(!segments(folder.path()).contains(&files[1]));
    assert_eq!(log.log.size().records, 21 - third);
    // A cut never goes back, and nothing goes that is to come.
    log.log.cut(0).unwrap();
    assert_eq!(log.append(21), Ok(21));
    log.log.cut(u64::MAX).unwrap();
    assert_eq!(log.log.size().records, 0);
    // The one that is written goes as well, once another has begun.
    eventually("an empty log", || {
        log.log.cut(u64::MAX).unwrap();
        log.log.size().segments == 1 && log.log.size().bytes < 100
    });
    assert_eq!(log.append(22), Ok(22));
    log.log.close(LONG);
    log.log.cut(23).unwrap();
    assert_eq!(segments(folder.path()), [] as [PathBuf; 0]);
}

#[test]
fn a_full_log_takes_nothing_until_it_is_cut() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path(), |o| o.max_bytes = 6_000).unwrap();
    let mut n = 1;
    while n < 1_000 && log.append(n).is_ok() {
        n += 1;
    }
    assert_eq!(log.append(n), Err(NotTaken::Full));
    let bytes = log.log.size().bytes;
    assert!((6_000..7_000).contains(&bytes), "{bytes}");
    log.log.cut(n).unwrap();
    eventually("room", || log.append(n).is_ok());
}

#[test]
fn what_waits_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let gate = Arc::new(Mutex::new(()));
    let held = gate.lock().unwrap();
    let deliver = {
        let gate = Arc::clone(&gate);
        move |_: Commit<u64>| drop(gate.lock().unwrap())
    };
    let telemetry = Arc::new(Telemetry::new());
    let options = Options {
        max_queued_bytes: 1_000,
        ..Options::default()
    };
    let (log, _) = Log::open(folder.path(), options, Arc::clone(&telemetry), deliver).unwrap();
    log.append(vec![record(1)], 0).unwrap();
    eventually("the first commit", || telemetry.log_commits.get() == 1);
    let taken = (1..100).take_while(|n| log.append(vec![record(1)], *n).is_ok());
    assert_eq!(taken.count(), 5);
    assert_eq!(log.append(vec![record(1)], 7), Err((NotTaken::Behind, 7)));
    drop(held);
    eventually("room", || log.append(vec![record(1)], 8).is_ok());
}

#[test]
fn a_newer_format_is_refused_by_name() {
    let (folder, files) = filled(1);
    let mut bytes = fs::read(&files[0]).unwrap();
    bytes[8] = 2;
    let check = xxhash_rust::xxh3::xxh3_64(&bytes[..32]);
    bytes[32..40].copy_from_slice(&check.to_le_bytes());
    fs::File::create(&files[0])
        .unwrap()
        .write_all(&bytes)
        .unwrap();
    let error = open(folder.path(), |_| {})
        .map(drop)
        .unwrap_err()
        .to_string();
    let name = files[0].to_str().unwrap();
    assert!(
        error.contains(name) && error.contains("version 2"),
        "{error}"
    );
    assert_eq!(fs::read(&files[0]).unwrap(), bytes);
}

/// The bytes of format 1, drawn by hand: a later build must go on reading them.
#[test]
fn the_first_format_is_read_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = b"DWNDLLOG\x01\0\0\0\0\0\0\0".to_vec();
    bytes.extend(5u64.to_le_bytes());
    bytes.extend(1_791_364_500_000_000_000u64.to_le_bytes());
    let check = xxhash_rust::xxh3::xxh3_64(&bytes);
    bytes.extend(check.to_le_bytes());
    let payload = record(5).bytes;
    let mut header = b"dwR\x01\x01\0\0\0".to_vec();
    header.extend((payload.len() as u32).to_le_bytes());
    header.extend([0; 4]);
    header.extend(5u64.to_le_bytes());
    header.extend(xxhash_rust::xxh3::xxh3_64(&payload).to_le_bytes());
    let check = xxhash_rust::xxh3::xxh3_64(&header) as u32;
    header[12..16].copy_from_slice(&check.to_le_bytes());
    bytes.extend(header);
    bytes.extend(&payload);
    let file = folder.path().join("00000000000000000005.log");
    fs::File::create(file).unwrap().write_all(&bytes).unwrap();
    let log = open(folder.path(), |_| {}).unwrap();
    assert_eq!(seqs(&log), [5]);
    assert_eq!(log.append(6), Ok(6));
}

#[test]
fn a_folder_that_cannot_be_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::File::create(&file).unwrap();
    let error = open(&file.join("log"), |_| {}).map(drop).unwrap_err();
    let said = error.to_string();
    assert!(
        said.contains(&format!("`{}`", file.join("log").display())),
        "{said}"
    );
}
