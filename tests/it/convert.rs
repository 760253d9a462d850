//! Writing traces in other formats: exact where the format can be, counted where it cannot.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Arc;

use dwindle::files::write::{Encoded, Format, Loss, Losses};
use dwindle::files::{Loaded, load_bytes};
use dwindle::model::{
    Attributes, Event, Kind, Link, Resource, Scope, Span, Status, StatusCode, Trace, UnixNanos,
    Value,
};
use dwindle::otlp::Limits;
use proptest::prelude::*;

use crate::otlp::batch;
use crate::spans::{log, span};
use crate::support::{corpus, run, samples};

fn read(bytes: &[u8]) -> Loaded {
    load_bytes("f", bytes, &Limits::default())
}

/// A file of these traces, and what it could not hold.
fn write(format: Format, traces: &[Trace]) -> (Vec<u8>, Losses) {
    let mut file = format.head().as_bytes().to_vec();
    let mut all = Losses::default();
    for (at, trace) in traces.iter().enumerate() {
        if at > 0 {
            file.extend(format.between().bytes());
        }
        let Encoded { bytes, losses } = format.encode(trace);
        file.extend(bytes);
        all.join(&losses);
    }
    file.extend(format.tail().bytes());
    (file, all)
}

fn back(format: Format, traces: &[Trace]) -> (Vec<Trace>, Losses) {
    let (file, losses) = write(format, traces);
    let loaded = read(&file);
    let text = String::from_utf8_lossy(&file);
    assert_eq!(loaded.problems, [], "{text}");
    (loaded.traces, losses)
}

/// The spans as traces, in the order of first appearance.
fn traces(spans: Vec<Span>) -> Vec<Trace> {
    let mut traces: Vec<Trace> = Vec::new();
    for span in spans {
        let id = span.trace_id;
        match traces.iter_mut().find(|trace| trace.id == id) {
            Some(trace) => trace.spans.push(span),
            None => traces.push(Trace {
                id,
                spans: vec![span],
                logs: Vec::new(),
            }),
        }
    }
    traces
}

/// What is left of a batch when all that Jaeger cannot hold is taken away; one trace.
fn tame(spans: Vec<Span>) -> Vec<Span> {
    let value = |value: &Value| match value {
        Value::Empty | Value::Array(_) | Value::Map(_) => Value::Str("plain".into()),
        plain => plain.clone(),
    };
    let attributes = |attributes: &Attributes| -> Attributes {
        let pairs = attributes.iter();
        pairs.map(|(key, one)| (key, value(one))).collect()
    };
    let micros = |time: UnixNanos| UnixNanos(time.0 / 1000 * 1000);
    let trace_id = spans.first().map(|span| span.trace_id).unwrap_or_default();
    let tame = |span: Span| {
        let mut pairs = attributes(&span.resource.attributes).0;
        pairs.insert(0, ("service.name".into(), Value::Str("cart".into())));
        let mut resource = Resource::new(Attributes(pairs));
        resource.dropped_attributes = span.resource.dropped_attributes;
        let events = span.events.iter().map(|event| Event {
            time: micros(event.time),
            attributes: attributes(&event.attributes),
            ..event.clone()
        });
        let links = span.links.iter().enumerate().map(|(at, link)| {
            let child = at % 2 == 1 && span.parent_id.is_some();
            let kind = child.then(|| ("opentracing.ref_type", Value::Str("child_of".into())));
            Link {
                trace_id: link.trace_id,
                span_id: link.span_id,
                attributes: kind.into_iter().collect(),
                ..Link::default()
            }
        });
        let start = micros(span.start);
        Span {
            trace_id,
            kind: match span.kind {
                Kind::Other(_) => Kind::Server,
                kind => kind,
            },
            status: Status {
                code: match span.status.code {
                    StatusCode::Other(_) => StatusCode::Ok,
                    code => code,
                },
                message: span.status.message.clone(),
            },
            start,
            // No longer than 292 years, as Jaeger's durations are.
            end: micros(UnixNanos(
                span.end.0.clamp(start.0, start.0.saturating_add(1 << 62)),
            )),
            attributes: attributes(&span.attributes),
            events: events.collect(),
            links: links.collect(),
            resource: Arc::new(resource),
            scope: Arc::new(Scope {
                name: span.scope.name.clone(),
                version: span.scope.version.clone(),
                ..Scope::default()
            }),
            ..span
        }
    };
    spans.into_iter().map(tame).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn otlp_is_exact_in_both_encodings(spans in batch()) {
        let traces = traces(spans);
        prop_assume!(!traces.is_empty());
        for format in [Format::OtlpJson, Format::OtlpProto] {
            let (again, losses) = back(format, &traces);
            prop_assert_eq!(&again, &traces);
            prop_assert!(losses.is_empty(), "{}", losses);
        }
    }

    #[test]
    fn what_jaeger_can_hold_comes_back_as_it_was(spans in batch()) {
        let traces = traces(tame(spans));
        prop_assume!(!traces.is_empty());
        let (again, losses) = back(Format::Jaeger, &traces);
        prop_assert!(losses.is_empty(), "{}", losses);
        prop_assert_eq!(&again, &traces);
    }

    #[test]
    fn what_jaeger_cannot_hold_is_counted_and_costs_no_span(spans in batch()) {
        let traces = traces(spans);
        prop_assume!(!traces.is_empty());
        let (again, losses) = back(Format::Jaeger, &traces);
        let ids = |traces: &[Trace]| -> Vec<_> {
            let spans = traces.iter().flat_map(|trace| &trace.spans);
            spans.map(|span| (span.trace_id, span.span_id, span.parent_id, span.name.clone(), span.events.len())).collect()
        };
        prop_assert_eq!(ids(&again), ids(&traces));
        prop_assert!(again == traces || !losses.is_empty());
        // What was read from it is what it can hold.
        let (third, losses) = back(Format::Jaeger, &again);
        prop_assert!(losses.is_empty(), "{}", losses);
        prop_assert_eq!(third, again);
    }
}

#[test]
fn protobuf_of_every_length_is_read_back() {
    // A first entry of 91 or 123 bytes begins with what looks like a line end and a bracket.
    for letters in 0..200 {
        let mut one = span(1, 1, None);
        one.name = "n".repeat(letters).into();
        let written = traces(vec![one]);
        let (read, _) = back(Format::OtlpProto, &written);
        assert_eq!(read, written, "{letters}");
    }
}

#[test]
fn each_thing_that_jaeger_cannot_hold_is_said() {
    let pairs = |pairs: &[(&str, Value)]| -> Attributes { pairs.iter().cloned().collect() };
    let mut one = span(1, 1, None);
    one.start = UnixNanos(5_000_001);
    one.end = UnixNanos(4_000_000);
    one.kind = Kind::Other(9);
    one.attributes = pairs(&[
        (
            "list",
            Value::Array(vec![Value::Int(1), Value::Str("a\"".into()), Value::Empty]),
        ),
        (
            "map",
            Value::Map(pairs(&[
                ("a", Value::Bytes(vec![0, 0, 48, 57])),
                ("b", Value::Double(0.5)),
            ])),
        ),
        ("nothing", Value::Empty),
        ("span.kind", Value::Str("server".into())),
        ("error", Value::Bool(false)),
    ]);
    one.links = vec![Link {
        trace_id: one.trace_id,
        span_id: one.span_id,
        trace_state: "a=b".into(),
        ..Link::default()
    }];
    one.resource = Arc::new(Resource::new(pairs(&[("service.name", Value::Int(7))])));
    one.scope = Arc::new(Scope {
        schema_url: "https://schema".into(),
        ..Scope::default()
    });
    let mut trace = Trace {
        id: one.trace_id,
        spans: vec![one],
        logs: vec![log(1, 1), log(1, 2)],
    };
    trace.logs[0].body = "timeout of 700ms exceeded".into();
    let (again, losses) = back(Format::Jaeger, std::slice::from_ref(&trace));
    let counts = [
        Loss::Nanoseconds,
        Loss::NegativeDuration,
        Loss::Array,
        Loss::Map,
        Loss::Empty,
        Loss::Service,
        Loss::Reserved,
        Loss::Link,
        Loss::Unknown,
        Loss::Around,
        Loss::LogOfSpan,
        Loss::Log,
    ];
    for loss in counts {
        assert_eq!(losses.of(loss), 1, "{loss:?}: {losses}");
    }
    assert_eq!(losses.lines().count(), counts.len());
    assert!(
        losses
            .lines()
            .any(|line| line == "1 array became JSON text")
    );

    let read = &again[0].spans[0];
    assert_eq!(
        (read.start, read.end),
        (UnixNanos(5_000_000), UnixNanos(5_000_000))
    );
    let text = |key: &str| read.attributes.text(key);
    assert_eq!(text("list"), Some(r#"[1,"a\"",null]"#));
    assert_eq!(text("map"), Some(r#"{"a":"AAAwOQ==","b":0.5}"#));
    assert_eq!(read.service(), "7");
    // The record of a span that is there became an event of it.
    assert_eq!(read.events.len(), 1);
    let said = read.events[0].attributes.text("message");
    assert_eq!(said, Some("timeout of 700ms exceeded"));
    assert!(
        read.events[0]
            .attributes
            .get("deadline.remaining_in_ms")
            .is_some()
    );

    let (_, losses) = back(Format::OtlpProto, std::slice::from_ref(&trace));
    assert_eq!((losses.of(Loss::Log), losses.lines().count()), (2, 1));
    trace.logs.truncate(1);
    let (again, losses) = back(Format::OtlpJson, std::slice::from_ref(&trace));
    assert_eq!(again, [trace]);
    assert_eq!((losses.of(Loss::LogParts), losses.lines().count()), (1, 1));
}

#[test]
fn jaegers_own_readers_find_what_they_look_for() {
    let mut parent = span(1, 1, None);
    parent.attributes = [
        ("big", Value::Int(9_223_372_036_854_775_222)),
        ("small", Value::Int(7)),
    ]
    .into_iter()
    .collect();
    let mut child = span(1, 2, Some(1));
    child.status.code = StatusCode::Error;
    let trace = Trace {
        id: parent.trace_id,
        spans: vec![parent, child],
        logs: Vec::new(),
    };
    let (file, _) = write(Format::Jaeger, &[trace.clone(), trace.clone()]);
    let json: serde_json::Value = serde_json::from_slice(&file).unwrap();
    let data = json["data"].as_array().unwrap();
    assert_eq!(data.len(), 2);
    let [parent, child] = &data[0]["spans"].as_array().unwrap()[..] else {
        panic!("{json}");
    };
    assert_eq!(data[0]["traceID"], trace.id.to_string());
    assert_eq!(parent["tags"][0]["value"], "9223372036854775222");
    assert_eq!(parent["tags"][1]["value"], 7);
    assert_eq!(child["references"][0]["refType"], "CHILD_OF");
    assert_eq!(child["references"][0]["spanID"], parent["spanID"]);
    assert_eq!(
        (&child["processID"], &parent["processID"]),
        (&"p1".into(), &"p1".into())
    );
    assert_eq!(data[0]["processes"]["p1"]["serviceName"], "shop");
    let error = serde_json::json!({"key": "error", "type": "bool", "value": true});
    assert!(child["tags"].as_array().unwrap().contains(&error));
    assert!(child["duration"].is_u64() && child["startTime"].is_u64());
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }
}

fn convert(inputs: &[&Path], out: &Path, more: &[&str]) -> Output {
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let mut args = vec!["convert".to_owned()];
    args.extend(inputs.iter().map(|path| text(path)));
    args.extend(["-o".to_owned(), text(out)]);
    args.extend(more.iter().map(|&arg| arg.to_owned()));
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    run(&args)
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn listed(files: &[&Path]) -> String {
    let files = files.iter().map(|file| file.to_str().unwrap());
    let args: Vec<&str> = ["traces", "--format", "ndjson"]
        .into_iter()
        .chain(files)
        .collect();
    let output = run(&args);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_samples_mean_the_same_in_every_format() {
    let folder = Folder::new();
    let samples = samples();
    let samples: Vec<&Path> = samples.iter().map(PathBuf::as_path).collect();
    let expected = listed(&samples);
    let count = samples.len();
    for end in [
        "ndjson",
        "pb",
        "jaeger.json",
        "ndjson.gz",
        "pb.zst",
        "jaeger.json.zst",
        "parquet",
    ] {
        let out = folder.path(&format!("all.{end}"));
        let output = convert(&samples, &out, &[]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(output.stdout, b"");
        let said = stderr(&output);
        assert!(said.contains(&format!("{count} traces, ")), "{said}");
        assert_eq!(listed(&[&out]), expected, "{}: {said}", out.display());
    }
    // Those that hold all of OTLP give it back to the byte.
    let first = fs::read(folder.path("all.ndjson")).unwrap();
    for end in ["ndjson.gz", "pb", "parquet"] {
        let again = folder.path(&format!("{end}.ndjson"));
        let output = convert(&[&folder.path(&format!("all.{end}"))], &again, &[]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(fs::read(&again).unwrap() == first, "{end}");
    }
}

#[test]
fn traces_are_chosen_and_written_whole() {
    let folder = Folder::new();
    let samples = samples();
    let samples: Vec<&Path> = samples.iter().map(PathBuf::as_path).collect();
    let expected = |more: &[&str]| -> Vec<String> {
        let files = samples.iter().map(|file| file.to_str().unwrap());
        let args = ["traces", "--format", "ndjson"].into_iter().chain(files);
        let args: Vec<&str> = args.chain(more.iter().copied()).collect();
        let lines = String::from_utf8(run(&args).stdout).unwrap();
        lines.lines().map(str::to_owned).collect()
    };
    let missed = expected(&["--where", "outcome=missed"]);
    assert!(missed.len() > 2 && missed.len() < samples.len());
    let out = folder.path("missed.ndjson");
    let output = convert(&samples, &out, &["--where", "outcome=missed"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let read = listed(&[&out]);
    // A trace may have further requests, which were written with it.
    let read: Vec<&str> = read.lines().collect();
    assert!(missed.iter().all(|line| read.contains(&line.as_str())));
    assert!(read.len() < samples.len());

    let id: serde_json::Value = serde_json::from_str(&missed[0]).unwrap();
    let id = id["trace_id"].as_str().unwrap();
    let output = convert(&samples, &folder.path("one.pb"), &["--id", id]);
    assert!(
        stderr(&output).contains(": 1 trace, "),
        "{}",
        stderr(&output)
    );

    let none = folder.path("none.ndjson");
    let output = convert(&samples, &none, &["--where", "service=nobody"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("is not written"),
        "{}",
        stderr(&output)
    );
    assert!(!none.exists());
}

#[test]
fn files_are_packed_as_they_are_named_or_told() {
    let folder = Folder::new();
    let sample = &samples()[0];
    for (name, more, magic) in [
        ("a.ndjson.gz", &[][..], &[0x1f, 0x8b][..]),
        ("b.ndjson.zst", &[], &[0x28, 0xb5, 0x2f, 0xfd]),
        ("c.ndjson", &["--compress", "gzip"], &[0x1f, 0x8b]),
        (
            "d.ndjson.gz",
            &["--compress", "none"],
            b"{\"resourceSpans\"",
        ),
        ("e", &["--to", "jaeger"], b"{\"data\":["),
        ("f.json", &["--to", "otlp-proto"], &[0x0a]),
        ("g.jaeger.json", &[], b"{\"data\":["),
    ] {
        let out = folder.path(name);
        let output = convert(&[sample], &out, more);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", stderr(&output));
        assert!(fs::read(&out).unwrap().starts_with(magic), "{name}");
    }
    assert_eq!(folder.names().len(), 7, "{:?}", folder.names());
    let output = convert(&[sample], Path::new("-"), &[]);
    assert_eq!(output.stdout, fs::read(folder.path("d.ndjson.gz")).unwrap());
    let output = convert(&[sample], &folder.path("x.parquet.gz"), &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("compressed inside"),
        "{}",
        stderr(&output)
    );
    let output = convert(&[sample], &folder.path("x.txt"), &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("add --to otlp-json"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_folder_that_is_not_there_is_told_by_its_name() {
    let folder = Folder::new();
    let out = folder.path("none/x.ndjson");
    let output = convert(&[&samples()[0]], &out, &[]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    let none = folder.path("none");
    assert!(
        said.contains(&format!("there is no folder {}", none.display())),
        "{said}"
    );
    assert!(!said.contains(".part"), "{said}");
}

#[test]
fn nothing_is_overwritten_unasked_and_an_input_never() {
    let folder = Folder::new();
    let sample = &samples()[0];
    let out = folder.path("out.ndjson");
    fs::copy(sample, &out).unwrap();
    let before = fs::read(&out).unwrap();
    let refused = |output: &Output, words: &str| {
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(output).contains(words), "{}", stderr(output));
        assert_eq!(fs::read(&out).unwrap(), before);
    };
    refused(&convert(&[sample], &out, &[]), "--force replaces it");
    refused(
        &convert(&[sample, &out], &out, &["--force"]),
        "one of the inputs",
    );
    let link = folder.path("link.ndjson");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&out, &link).unwrap();
        refused(&convert(&[&link], &out, &["--force"]), "one of the inputs");
        refused(&convert(&[&out], &link, &["--force"]), "one of the inputs");
        fs::remove_file(&link).unwrap();
    }
    refused(
        &convert(&[sample], folder.0.path(), &["--force"]),
        "is a directory",
    );
    let none = folder.path("none").join("out.ndjson");
    refused(&convert(&[sample], &none, &[]), "cannot write");
    assert_eq!(folder.names(), ["out.ndjson"]);

    let output = convert(&[&samples()[1]], &out, &["--force"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(listed(&[&out]), listed(&[&samples()[1]]));
    assert_eq!(folder.names(), ["out.ndjson"]);
}

#[test]
fn what_is_good_is_written_and_what_is_bad_is_said() {
    let folder = Folder::new();
    let bad = folder.path("bad.json");
    fs::write(&bad, "{\"traceEvents\":[{\"ph\":\"X\",\"ts\":1}]}").unwrap();
    let out = folder.path("out.ndjson");
    let output = convert(&[&bad], &out, &[]);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(
        said.contains("Chrome trace") && said.contains("is not written"),
        "{said}"
    );
    assert!(!out.exists());

    let sample = &samples()[0];
    let output = convert(&[&bad, sample], &out, &[]);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(
        said.contains("Chrome trace") && said.contains("1 trace, "),
        "{said}"
    );
    assert_eq!(listed(&[&out]), listed(&[sample]));
    assert_eq!(folder.names(), ["bad.json", "out.ndjson"]);
}

#[cfg(unix)]
#[test]
fn a_device_is_written_to_and_not_replaced() {
    let output = convert(
        &[&samples()[0]],
        Path::new("/dev/null"),
        &["--to", "otlp-proto"],
    );
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(!Path::new("/dev/null").metadata().unwrap().is_file());
}

#[test]
fn real_jaeger_files_keep_every_span_through_otlp_and_back() {
    let Some(corpus) = corpus() else { return };
    let mut seen = 0;
    for folder in ["jaeger", "jaeger-es", "jaeger-proto", "derived"] {
        for entry in fs::read_dir(corpus.join("traces").join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            let is_json = path.extension().is_some_and(|end| end == "json");
            if !is_json || name.contains("expected") {
                continue;
            }
            let first = read(&fs::read(&path).unwrap());
            assert_eq!(first.problems, [], "{name}");
            let (otlp, losses) = back(Format::OtlpJson, &first.traces);
            assert_eq!(otlp, first.traces, "{name}");
            assert!(losses.is_empty());
            let (jaeger, losses) = back(Format::Jaeger, &first.traces);
            if losses.is_empty() {
                assert_eq!(jaeger, first.traces, "{name}");
                seen += 1;
            } else {
                println!("{name}: {losses}");
            }
        }
    }
    assert!(seen > 30, "{seen} files came back as they were");
}
