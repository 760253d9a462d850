//! Hostile bytes: truncations and bit flips of real and sample files through every decoder.
//!
//! Seeded and bounded, so that a failure repeats and a run ends. `tests/fuzz` has the same entry
//! functions for an endless run.

use std::path::PathBuf;

use dwindle::files::{Input, load};
use dwindle::otlp::{Limits, traces_to_json, traces_to_proto};
use proptest::prelude::*;
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
        mutations(&framed(&proto), rounds, &mut random, entry::messages);
        mutations(&proto, rounds / 4, &mut random, entry::archive);
        let lines: String = spans
            .chunks(3)
            .map(|some| traces_to_json(some) + "\n")
            .collect();
        mutations(lines.as_bytes(), rounds, &mut random, entry::file);
    }
}

/// The message twice, once compressed, as [`entry::messages`] takes them apart.
fn framed(message: &[u8]) -> Vec<u8> {
    let packed = zstd::encode_all(message, 1).unwrap();
    let length = (packed.len() as u32).to_be_bytes();
    [&length[..], message, &[0xff, 0x00], &packed].concat()
}

/// An entry, how often each seed is changed, and what it is given to begin from.
type Seeds = (fn(&[u8]), usize, &'static [&'static str]);

/// How often a seed is changed.
const OFTEN: usize = 300;

/// How often it is where one reading takes long: [`entry::parquet`] reads three files each time.
const SELDOM: usize = 60;

/// What a file of each format that is no OTLP may hold, to begin from where no corpus is.
const SEEDS: &[Seeds] = &[
    (
        entry::jaeger,
        OFTEN,
        &[
            r#"{"traceID":"5b8efff798038103d269b633813fc60c","spanID":"eee19b7ec3c1b174","operationName":"o","references":[{"refType":"CHILD_OF","traceID":"7","spanID":"1"}],"startTime":1591000000000000,"duration":5000,"processID":"p1","tags":[{"key":"error","type":"bool","value":true},{"key":"span.kind","type":"string","value":"client"}],"logs":[{"timestamp":1591000000000001,"fields":[{"key":"event","type":"string","value":"x"}]}],"warnings":null}"#,
            r#"{"traceID":"7","spanID":"2","flags":1,"operationName":"","startTime":"1","duration":-1,"tags":{"a":1.5}}"#,
        ],
    ),
    (
        entry::zipkin,
        OFTEN,
        &[
            r#"{"traceId":"5b8efff798038103d269b633813fc60c","id":"eee19b7ec3c1b174","parentId":"1","kind":"CLIENT","name":"get","timestamp":1591000000000000,"duration":5000,"localEndpoint":{"serviceName":"a"},"annotations":[{"timestamp":1591000000000001,"value":"retry"}],"tags":{"error":"timeout"},"shared":true}"#,
            r#"{"traceId":"7","id":"2","name":"get","annotations":[{"timestamp":1,"value":"cs","endpoint":{"serviceName":"a"}},{"timestamp":5,"value":"cr"}],"binaryAnnotations":[{"key":"http.path","value":"/"}]}"#,
        ],
    ),
    (
        entry::sdk,
        OFTEN,
        &[
            r#"{"Name":"o","SpanContext":{"TraceID":"5b8efff798038103d269b633813fc60c","SpanID":"eee19b7ec3c1b174"},"Parent":{"SpanID":"1"},"SpanKind":3,"StartTime":"2026-10-07T09:15:00.5Z","EndTime":"2026-10-07T09:15:01Z","Attributes":[{"Key":"a","Value":{"Type":"INT64","Value":3}}],"Status":{"Code":"Error","Description":"late"},"Resource":[{"Key":"service.name","Value":{"Type":"STRING","Value":"a"}}]}"#,
            r#""2026-10-07T09:15:00.5Z","end_time":"2026-10-07T09:15:01Z","kind":"SpanKind.CLIENT","status":{"status_code":"ERROR","description":"late"},"attributes":{"a":[1,2]},"events":[],"links":[],"resource":{"attributes":{"service.name":"a"}}"#,
        ],
    ),
    (
        entry::parquet,
        SELDOM,
        &["\0\0\0", "\u{1}\0\u{1}", "\u{7f}\u{7f}\u{2}tail"],
    ),
    (
        entry::value,
        OFTEN,
        &[
            "250",
            "250ms",
            "1.5s",
            "PT1M2.5S",
            "1m30s",
            "99999999S",
            "123456789n",
            "0",
            "-1",
            "2026-10-07T09:15:00.000000001Z",
            "1791364500",
            "1791364500000000000",
            "250, 100",
            "1e400",
            "NaN",
            "exceeded",
            "deadline exceeded after 1.999956300s",
            "timeout of 5000ms exceeded",
            "context deadline exceeded",
        ],
    ),
    (
        entry::filter,
        OFTEN,
        &[
            "outcome=missed and culprit.service=pricing and wasted > 200ms",
            "not (service ~ \"a.*\" or hop.verdict != ok) and budget >= 1.5s",
            "start > 2026-10-07T09:15:00Z or used <= 90%",
            "((((a=1))))",
            "finding.rule = budget_reset",
            "\"\\u0041\"=",
        ],
    ),
];

#[test]
fn what_each_reader_takes_cut_and_flipped_does_no_harm() {
    for (run, rounds, seeds) in SEEDS {
        for (place, seed) in seeds.iter().enumerate() {
            let mut random = Random::new(place as u64);
            mutations(seed.as_bytes(), *rounds, &mut random, run);
            for cut in 0..seed.len() {
                run(&seed.as_bytes()[..cut]);
            }
            // Parts of two seeds together.
            let other = seeds[random.below(seeds.len())].as_bytes();
            for _ in 0..rounds / 6 {
                let (a, b) = (random.below(seed.len()), random.below(other.len()));
                run(&[&seed.as_bytes()[..a], &other[b..]].concat());
            }
        }
    }
}

proptest! {
    #[test]
    fn texts_of_the_filters_words_are_read_or_refused_in_place(
        words in prop::collection::vec(prop::sample::select(WORDS), 0..24)
    ) {
        entry::filter(words.join(" ").as_bytes());
        entry::filter(words.concat().as_bytes());
    }

    #[test]
    fn values_of_any_digits_and_units_are_read_or_refused(
        text in "[-+]?[0-9]{0,20}[.,]?[0-9]{0,12}(ns|us|ms|s|m|h|S|M|H|n|u|e9)?( [a-z]{1,9})?"
    ) {
        entry::value(text.as_bytes());
    }
}

/// What filters are made of.
const WORDS: &[&str] = &[
    "and",
    "or",
    "not",
    "(",
    ")",
    "=",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "~",
    "outcome",
    "missed",
    "met",
    "service",
    "hop.verdict",
    "call.retries",
    "finding.rule",
    "wasted",
    "budget",
    "used",
    "200ms",
    "1.5s",
    "90%",
    "-1",
    "null",
    "\"a b\"",
    "\"",
    "pricing",
    "2026-10-07T09:15:00Z",
    "0",
    "ä",
];

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
