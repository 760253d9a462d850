//! Hostile bytes: truncations and bit flips of real and sample files through every decoder.
//!
//! Seeded and bounded, so that a failure repeats and a run ends. `tests/fuzz` has the same entry
//! functions for an endless run.

use std::path::PathBuf;

use dwindle::files::{Input, load};
use dwindle::otlp::{Limits, traces_to_json, traces_to_proto};
use prost::Message;

use crate::entry;
use crate::support::{self, Random};

/// Bytes of one file that are mutated; the rest is more of the same.
const MOST: usize = 12 << 10;

fn mutations(bytes: &[u8], rounds: usize, random: &mut Random, run: impl Fn(&[u8])) {
    run(bytes);
    for round in 0..rounds {
        let mut bytes = bytes.to_vec();
        if bytes.is_empty() {
            return;
        }
        if round % 2 == 0 {
            bytes.truncate(random.below(bytes.len()));
        } else {
            for _ in 0..=random.below(4) {
                let at = random.below(bytes.len());
                bytes[at] ^= 1 << random.below(8);
            }
        }
        run(&bytes);
    }
}

/// Each file as it is, as protobuf, and as lines, as far as it can be read.
fn try_all(files: &[PathBuf], rounds: usize) {
    for file in files {
        let mut random = Random::new(file.file_name().map_or(0, |name| name.len() as u64));
        let bytes = std::fs::read(file).unwrap();
        let start = &bytes[..bytes.len().min(MOST)];
        mutations(start, rounds, &mut random, entry::file);
        mutations(start, rounds, &mut random, entry::json);
        let loaded = load(
            &[Input::Path(file.clone())],
            &Limits::default(),
            &mut |_, _| {},
        );
        let spans: Vec<_> = loaded
            .traces
            .into_iter()
            .flat_map(|trace| trace.spans)
            .take(20)
            .collect();
        if spans.is_empty() {
            continue;
        }
        let proto = traces_to_proto(&spans).encode_to_vec();
        mutations(&proto, rounds, &mut random, entry::proto);
        mutations(&proto, rounds, &mut random, entry::file);
        let lines: String = spans
            .chunks(3)
            .map(|some| traces_to_json(some) + "\n")
            .collect();
        mutations(lines.as_bytes(), rounds, &mut random, entry::file);
    }
}

#[test]
fn samples_cut_and_flipped_do_no_harm() {
    try_all(&support::samples(), 40);
}

#[test]
fn real_files_cut_and_flipped_do_no_harm() {
    let Some(corpus) = support::corpus() else {
        return;
    };
    let mut files = Vec::new();
    for folder in std::fs::read_dir(corpus.join("traces")).unwrap() {
        let folder = folder.unwrap().path();
        if folder.is_dir() {
            files.extend(
                std::fs::read_dir(folder)
                    .unwrap()
                    .map(|file| file.unwrap().path()),
            );
        }
    }
    files.sort();
    assert!(files.len() > 100);
    try_all(&files, 8);
}

#[test]
fn bytes_of_no_kind_do_no_harm() {
    let mut random = Random::new(1);
    for length in 0..400 {
        let bytes: Vec<u8> = (0..length).map(|_| random.below(256) as u8).collect();
        entry::proto(&bytes);
        entry::file(&bytes);
        let text: Vec<u8> = (0..length)
            .map(|_| b"{}[]\":,01 \n\\nulltrefas"[random.below(22)])
            .collect();
        entry::json(&text);
        entry::file(&text);
    }
}
