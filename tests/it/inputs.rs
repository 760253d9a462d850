//! Where spans come from besides a file of text: folders, patterns, archives, framed messages; and
//! files that end in the middle.

use std::io::Write as _;
use std::path::Path;

use dwindle::files::{Input, Loaded, load, load_bytes};
use dwindle::model::{Span, SpanLog, Value};
use dwindle::otlp::{Limits, logs_to_proto, traces_to_json, traces_to_proto};
use prost::Message as _;

use crate::support;

fn read(bytes: &[u8]) -> Loaded {
    load_bytes("f", bytes, &Limits::default())
}

fn load_one(input: impl AsRef<Path>) -> Loaded {
    let input = Input::from_argument(input.as_ref());
    load(&[input], &Limits::default(), &mut |_, _| {})
}

fn problems(loaded: &Loaded) -> Vec<String> {
    loaded.problems.iter().map(ToString::to_string).collect()
}

fn passed_over(loaded: &Loaded) -> Vec<String> {
    loaded.passed_over.iter().map(ToString::to_string).collect()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Spans of the samples, several traces of several services.
fn sample_spans() -> Vec<Span> {
    let inputs: Vec<Input> = support::samples().into_iter().map(Input::Path).collect();
    let loaded = load(&inputs, &Limits::default(), &mut |_, _| {});
    assert_eq!(loaded.problems, []);
    loaded
        .traces
        .into_iter()
        .flat_map(|trace| trace.spans)
        .collect()
}

/// A request of one span; `trace` and `span` are its ids' last digits.
fn request(trace: u32, span: u32) -> String {
    format!(
        r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"traceId":"{trace:032x}","spanId":"{span:016x}","name":"s{span}"}}]}}]}}]}}"#
    )
}

fn framed(messages: &[Vec<u8>]) -> Vec<u8> {
    let mut framed = Vec::new();
    for message in messages {
        framed.extend((message.len() as u32).to_be_bytes());
        framed.extend(message);
    }
    framed
}

fn tar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, *bytes).unwrap();
    }
    archive.into_inner().unwrap()
}

#[test]
fn the_file_exporters_messages_are_read_with_and_without_compression() {
    let spans = sample_spans();
    let expected = read(traces_to_json(&spans).as_bytes());
    let protos: Vec<Vec<u8>> = spans
        .chunks(5)
        .map(|some| traces_to_proto(some).encode_to_vec())
        .collect();
    let jsons = spans
        .chunks(5)
        .map(|some| traces_to_json(some).into_bytes());
    let packed = |messages: &[Vec<u8>]| -> Vec<Vec<u8>> {
        messages.iter().map(|message| zstd(message)).collect()
    };
    let jsons: Vec<Vec<u8>> = jsons.collect();
    for bytes in [
        framed(&protos),
        framed(&packed(&protos)),
        framed(&packed(&jsons)),
        framed(&jsons),
        zstd(&framed(&packed(&protos))),
        protos.concat(),
    ] {
        let loaded = read(&bytes);
        assert_eq!(loaded.problems, []);
        assert_eq!(loaded.traces, expected.traces);
    }
}

#[test]
fn many_messages_flow_through_pieces_in_order() {
    let some = sample_spans();
    let message = traces_to_proto(&some).encode_to_vec();
    let mut messages = vec![message; 90];
    // A message that is none costs itself.
    messages.insert(50, b"neither one nor the other".to_vec());
    let bytes = framed(&messages);
    assert!(bytes.len() > 3 << 20, "{}", bytes.len());
    let at: usize = messages[..50].iter().map(|message| 4 + message.len()).sum();
    let loaded = read(&bytes);
    assert_eq!(loaded.spans, 90 * some.len() as u64);
    let [problem] = &problems(&loaded)[..] else {
        panic!("{:?}", loaded.problems);
    };
    assert!(
        problem.starts_with(&format!("f: the message at byte {at} is left out: ")),
        "{problem}"
    );
    // Spans of the same kind stand in the order of the file.
    let alone = read(&traces_to_proto(&some).encode_to_vec());
    let first = &loaded.traces[0].spans[..alone.traces[0].spans.len()];
    assert_eq!(first, alone.traces[0].spans);
}

#[test]
fn messages_of_other_signals_are_told_and_logs_find_their_spans() {
    let spans = sample_spans();
    let first = &spans[0];
    let log = SpanLog {
        trace_id: first.trace_id,
        span_id: first.span_id,
        attributes: [("deadline.local_ms", Value::Int(3))].into_iter().collect(),
        ..SpanLog::default()
    };
    let logs = logs_to_proto(std::slice::from_ref(&log)).encode_to_vec();
    let loaded = read(&framed(&[
        traces_to_proto(&spans).encode_to_vec(),
        logs.clone(),
    ]));
    assert_eq!(loaded.problems, []);
    assert_eq!(loaded.traces[0].logs, [log]);
    assert_eq!(loaded.skipped[0].to_string(), "f: 1 log record skipped");
    let alone = read(&logs);
    assert_eq!(
        alone.skipped[0].to_string(),
        "f: no traces in this file (logs): 1 record skipped"
    );
}

#[test]
fn of_protobuf_that_is_cut_off_every_whole_span_is_kept() {
    let spans = sample_spans();
    let whole = traces_to_proto(&spans).encode_to_vec();
    let messages = framed(&[whole.clone(), whole.clone()]);
    for (bytes, before) in [(&whole, 0), (&messages, spans.len())] {
        let mut last = before;
        for cut in (bytes.len() - whole.len() * 9 / 10..bytes.len()).step_by(97) {
            let loaded = read(&bytes[..cut]);
            let [problem] = &problems(&loaded)[..] else {
                panic!("{cut}: {:?}", loaded.problems);
            };
            assert!(
                problem.starts_with(&format!("f: cut off at byte {cut}")),
                "{problem}"
            );
            let got = loaded.spans as usize;
            assert!(got >= last && got < before + spans.len(), "{cut}: {got}");
            last = got;
        }
        assert!(last + 2 >= before + spans.len(), "{last}");
    }
}

#[test]
fn a_length_that_no_message_has_is_refused_and_what_stands_before_it_kept() {
    let spans = sample_spans();
    let limits = Limits {
        max_document_bytes: 4 << 20,
        ..Limits::default()
    };
    let mut bytes = framed(&[traces_to_proto(&spans).encode_to_vec()]);
    bytes.extend([0x7f, 0xff, 0xff, 0xff, 1, 2, 3]);
    let loaded = load_bytes("f", &bytes, &limits);
    assert_eq!(loaded.spans, spans.len() as u64);
    assert!(
        problems(&loaded)[0].contains("says that it has 2147483647 bytes; at most 4 MiB"),
        "{:?}",
        loaded.problems
    );
}

#[test]
fn members_of_archives_are_inputs_of_their_own() {
    let (one, two) = (request(1, 1), request(1, 2));
    let archive = tar(&[
        ("a/one.json", one.as_bytes()),
        ("a/readme.md", b"# words"),
        ("a/._one.json", b"\0\0"),
        ("two.json.gz", &gzip(two.as_bytes())),
    ]);
    for bytes in [archive.clone(), gzip(&archive), zstd(&archive)] {
        let loaded = read(&bytes);
        assert_eq!(problems(&loaded), Vec::<String>::new());
        assert_eq!((loaded.traces.len(), loaded.spans), (1, 2));
        assert_eq!(
            passed_over(&loaded),
            [
                "f: 1 file passed over, f:a/readme.md: not JSON (begins with `# words`); Dwindle reads OTLP (JSON, NDJSON or protobuf), Jaeger, Zipkin and Tempo JSON, and what the Go and Python SDKs print"
            ]
        );
    }
    // One archive in another is opened, no more.
    let nested = tar(&[("inner.tar.gz", &gzip(&archive))]);
    assert_eq!(read(&nested).spans, 2);
    let deeper = read(&tar(&[("outer.tar", &nested), ("one", one.as_bytes())]));
    assert_eq!(deeper.spans, 1);
    assert!(passed_over(&deeper)[0].contains("an archive in an archive in an archive"));

    let none = read(&tar(&[("a.txt", b"words"), ("b.txt", b"more")]));
    assert!(
        problems(&none)[0].starts_with("f: no traces in any of its 2 files; the first, f:a.txt: "),
        "{:?}",
        none.problems
    );
    assert_eq!(problems(&read(&tar(&[]))).len(), 1);
}

#[test]
fn a_broken_member_is_a_problem_of_its_own_and_a_cut_archive_keeps_its_beginning() {
    let bad = format!("{}\n{{oops\n", request(2, 1));
    let archive = tar(&[
        ("good.json", request(1, 1).as_bytes()),
        ("bad.json", bad.as_bytes()),
    ]);
    let loaded = read(&archive);
    assert_eq!(loaded.spans, 2);
    assert_eq!(
        problems(&loaded),
        ["f:bad.json:2:2: not JSON: expected a string"]
    );
    let cut = read(&archive[..1600]);
    assert_eq!(cut.spans, 1, "{:?}", cut.problems);
    assert!(
        problems(&cut)
            .iter()
            .any(|problem| problem.contains("cut off")),
        "{:?}",
        cut.problems
    );
}

#[test]
fn what_is_packed_in_an_archive_counts_together() {
    let limits = Limits {
        max_inflated_bytes: 3 << 20,
        ..Limits::default()
    };
    let lines: String = (1..20_000).map(|i| request(i, i) + "\n").collect();
    assert!((2 << 20..3 << 20).contains(&lines.len()), "{}", lines.len());
    let packed = gzip(lines.as_bytes());
    assert_eq!(load_bytes("f", &packed, &limits).problems, []);
    let loaded = load_bytes("f", &tar(&[("a", &packed), ("b", &packed)]), &limits);
    let stopped = problems(&loaded);
    let stopped = stopped
        .iter()
        .find(|problem| problem.contains("more comes out"));
    assert!(
        stopped.is_some_and(|problem| problem.starts_with("f:b: ")),
        "{:?}",
        loaded.problems
    );
}

#[test]
fn folders_are_walked_in_order_and_hidden_files_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("b/late.json", &request(2, 2));
    write("a.json", &request(1, 1));
    write(".hidden.json", &request(3, 3));
    write(".git/x.json", &request(4, 4));
    write("notes.txt", "words\n");
    write("empty.json", "");
    let loaded = load_one(folder.path());
    assert_eq!(problems(&loaded), Vec::<String>::new());
    let ids: Vec<u8> = loaded.traces.iter().map(|trace| trace.id.0[15]).collect();
    assert_eq!(ids, [1, 2]);
    let place = folder.path().display();
    assert_eq!(
        passed_over(&loaded),
        [format!(
            "{place}: 2 files passed over; the first, {place}/empty.json: file is empty"
        )]
    );
    // A damaged trace file is no file of another kind.
    write("b/cut.json", request(5, 5).get(..80).unwrap());
    let loaded = load_one(folder.path());
    assert_eq!(
        problems(&loaded),
        [format!(
            "{place}/b/cut.json:1: the document that begins here is cut off at byte 80"
        )]
    );

    let empty = folder.path().join("none");
    std::fs::create_dir(&empty).unwrap();
    assert_eq!(
        problems(&load_one(&empty)),
        [format!("{}: no files in this folder", empty.display())]
    );
}

#[test]
fn patterns_in_quotes_name_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::create_dir_all(path("x/y")).unwrap();
    std::fs::write(path("x/y/one.json.gz"), gzip(request(1, 1).as_bytes())).unwrap();
    std::fs::write(path("x/two.json.gz"), gzip(request(2, 1).as_bytes())).unwrap();
    std::fs::write(path("x/three.json"), request(3, 1)).unwrap();
    std::fs::write(path("odd[1].json"), request(4, 1)).unwrap();
    for (pattern, spans) in [
        ("**/*.json.gz", 2),
        ("x/*.json*", 2),
        ("x/t*", 2),
        ("?", 3),
        ("**", 3),
        // A name that exists is no pattern.
        ("odd[1].json", 1),
    ] {
        let loaded = load_one(path(pattern));
        assert_eq!(loaded.problems, [], "{pattern}");
        assert_eq!(loaded.spans, spans, "{pattern}");
    }
    for (pattern, reason) in [
        ("*.nothing", "no file matches this pattern"),
        ("[z", "no such file, and as a pattern wrong"),
    ] {
        let loaded = load_one(path(pattern));
        assert!(
            problems(&loaded)[0].contains(reason),
            "{:?}",
            loaded.problems
        );
    }
}
