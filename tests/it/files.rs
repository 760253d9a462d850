//! Files as people have them: shapes, compression, faults, and speed without surprises.

use std::io::Write;
use std::path::{Path, PathBuf};

use dwindle::files::{Input, Loaded, Signal, load, load_bytes};
use dwindle::model::{Span, TraceId};
use dwindle::otlp::{Limits, traces_to_json, traces_to_proto};
use prost::Message;

use crate::support;

fn read(bytes: &[u8]) -> Loaded {
    load_bytes("f", bytes, &Limits::default())
}

fn problems(loaded: &Loaded) -> Vec<String> {
    loaded.problems.iter().map(ToString::to_string).collect()
}

/// A request of one span; `trace` and `span` are its ids' last digits.
fn request(trace: u32, span: u32) -> String {
    format!(
        r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"traceId":"{trace:032x}","spanId":"{span:016x}","name":"s{span}"}}]}}]}}]}}"#
    )
}

/// Traces and the spans in each, by the last digits of their ids.
fn shape(loaded: &Loaded) -> Vec<(u128, Vec<u64>)> {
    let traces = loaded.traces.iter();
    traces
        .map(|trace| {
            let spans = trace
                .spans
                .iter()
                .map(|span| u64::from_be_bytes(span.span_id.0));
            (u128::from_be_bytes(trace.id.0), spans.collect())
        })
        .collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

fn pretty(json: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(json).unwrap();
    serde_json::to_string_pretty(&value).unwrap()
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

#[test]
fn every_shape_of_otlp_json_holds_the_same_spans() {
    let [a, b, c] = [request(1, 1), request(2, 2), request(1, 3)];
    let entry = |json: &str| {
        let inner = json.strip_prefix(r#"{"resourceSpans":["#).unwrap();
        inner.strip_suffix("]}").unwrap().to_owned()
    };
    let [ea, eb, ec] = [&a, &b, &c].map(|json| entry(json));
    let shapes = [
        format!(r#"{{"resourceSpans":[{ea},{eb},{ec}]}}"#),
        format!("{a}\n{b}\n{c}\n"),
        format!("{a}\n{b}\n{c}"),
        format!("\u{feff}{a}\r\n\r\n{b}\r\n   \r\n{c}\r\n"),
        format!("\n\n{a}{b} {c}"),
        format!("{}\n{}\n{}\n", pretty(&a), pretty(&b), pretty(&c)),
        format!("{}{}{}", pretty(&a), pretty(&b), pretty(&c)),
        format!("{a}\n{}\n{c}\n", pretty(&b)),
        format!("[{a},{b},{c}]"),
        format!("[\n{a},\n{b},\n{c}\n]\n"),
        format!("[{a}]\n[{b},{c}]\n"),
        format!("{ea}\n{eb}\n{ec}\n"),
        format!("[{ea},{eb},{ec}]"),
        format!(r#"{{"batches":[{ea},{eb},{ec}]}}"#),
        format!(r#"{{"trace":{{"resourceSpans":[{ea},{eb},{ec}]}}}}"#),
        format!(r#"{{"result":{a}}}{{"result":{b}}}{{"result":{c}}}"#),
        format!(r#"{{"status":"ok","data":[{a},{{"trace":{b}}},{c}],"took":3}}"#),
        format!(r#"{{"session":7,"payload":{{"inner":[{a},{b},{c}]}}}}"#),
    ];
    let expected = [(1, vec![1, 3]), (2, vec![2])];
    for text in &shapes {
        for bytes in [
            text.clone().into_bytes(),
            gzip(text.as_bytes()),
            zstd(text.as_bytes()),
            gzip(&zstd(text.as_bytes())),
        ] {
            let loaded = read(&bytes);
            assert_eq!(loaded.problems, [], "{text}");
            assert_eq!(shape(&loaded), expected, "{text}");
            assert_eq!(loaded.spans, 3);
        }
    }
    let members = [
        gzip(format!("{a}\n").as_bytes()),
        gzip(format!("{b}\n{c}\n").as_bytes()),
    ]
    .concat();
    assert_eq!(shape(&read(&members)), expected);
}

#[test]
fn protobuf_is_read_with_and_without_lengths() {
    let spans = sample_spans();
    let whole = traces_to_proto(&spans).encode_to_vec();
    let mut framed = Vec::new();
    for some in spans.chunks(5) {
        let bytes = traces_to_proto(some).encode_to_vec();
        framed.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
        framed.extend_from_slice(&bytes);
    }
    let expected = read(traces_to_json(&spans).as_bytes());
    assert_eq!(expected.spans, spans.len() as u64);
    for bytes in [&whole, &framed, &gzip(&whole)] {
        let loaded = read(bytes);
        assert_eq!(loaded.problems, []);
        assert_eq!(loaded.traces, expected.traces);
    }
}

#[test]
fn a_bad_line_costs_itself_and_is_named() {
    let [a, b, c] = [request(1, 1), request(2, 2), request(3, 3)];
    let text = format!(
        "{a}\n{{\"resourceSpans\":[}}\n{b}\n{{\"hello\":1}}\nplain words\n7\n{{\"open\":\n{c}\n"
    );
    let loaded = read(text.as_bytes());
    assert_eq!(shape(&loaded), [(1, vec![1]), (2, vec![2]), (3, vec![3])]);
    let next = text.find(&c).unwrap();
    assert_eq!(
        problems(&loaded),
        [
            "f:2:19: not JSON: expected a value",
            "f:5:1: not JSON: expected a value",
            &format!("f:7: the document that begins here is cut off at byte {next}"),
            "f:4: no `resourceSpans` in this JSON (its keys: `hello`); Dwindle reads OTLP (JSON, NDJSON or protobuf), Jaeger, Zipkin and Tempo JSON, and what the Go and Python SDKs print",
        ]
    );
}

#[test]
fn a_truncated_end_keeps_what_stands_before_it() {
    let [a, b] = [request(1, 1), request(2, 2)];
    // Within the last span.
    let cut = |text: &str| text.get(..text.rfind("Id\"").unwrap()).unwrap().to_owned();
    for (text, line) in [
        (format!("{a}\n{}", cut(&b)), 2),
        (
            format!("{}\n{}", pretty(&a), cut(&pretty(&b))),
            1 + pretty(&a).lines().count(),
        ),
    ] {
        let loaded = read(text.as_bytes());
        assert_eq!(shape(&loaded), [(1, vec![1])]);
        assert_eq!(
            problems(&loaded),
            [format!(
                "f:{line}: the document that begins here is cut off at byte {}",
                text.len()
            )]
        );
    }
    // Half a span is no span; those that stand whole before it are read (reports, row 20).
    let loaded = read(cut(&a).as_bytes());
    assert_eq!((loaded.spans, loaded.problems.len()), (0, 1));
    let zipkin = r#"{"localEndpoint":{"serviceName":"a"},"id":"ID","traceId":"1"}"#;
    let zipkin = ["1", "2", "3"]
        .map(|id| zipkin.replace("ID", id))
        .join(",\n");
    let several = a.replace("\"}]}]}]}", "\"},") + a.split_once("\"spans\":[").unwrap().1;
    for (text, spans) in [(several, 1), (format!("[{zipkin}]"), 2)] {
        for packed in [cut(&text).into_bytes(), gzip(cut(&text).as_bytes())] {
            let loaded = read(&packed);
            assert_eq!(loaded.spans, spans, "{text}");
            assert_eq!(
                problems(&loaded),
                [format!(
                    "f:1: the document that begins here is cut off at byte {}; the spans before that were read",
                    cut(&text).len()
                )]
            );
        }
    }
    let lines: String = (1..20_000).map(|i| request(i, i) + "\n").collect();
    for packed in [gzip(lines.as_bytes()), zstd(lines.as_bytes())] {
        let loaded = read(&packed[..packed.len() - packed.len() / 4]);
        assert!(
            problems(&loaded).iter().any(|p| p.contains(&format!(
                "cut off at byte {}: the compressed data",
                packed.len() - packed.len() / 4
            ))),
            "{:?}",
            loaded.problems
        );
        assert!(loaded.spans > 1_000, "{}", loaded.spans);
    }
}

#[test]
fn rejected_spans_are_told_once_with_the_line_of_the_first() {
    let good = request(1, 1);
    let bad = good.replace("\"traceId\":\"", "\"traceId\":\"!");
    let loaded = read(format!("{good}\n{bad}\n{bad}\n").as_bytes());
    assert_eq!((loaded.spans, loaded.rejected), (1, 2));
    assert_eq!(
        problems(&loaded),
        [
            "f:2: 2 spans rejected; the first: span `s1`, `traceId`: the trace id is not 16 bytes of hex or base64"
        ]
    );
}

#[test]
fn words_for_ids_are_replaced_and_counted() {
    let text = request(1, 1).replace(&format!("{:016x}", 1), "child-span-001");
    let loaded = read(text.as_bytes());
    assert_eq!(
        (loaded.spans, loaded.replaced_ids, loaded.problems.len()),
        (1, 1, 0)
    );
    let strict = dwindle::otlp::traces_from_json(text.as_bytes(), &Limits::default()).unwrap();
    assert_eq!(strict.rejected_total(), 1);
}

#[test]
fn what_is_no_otlp_is_called_by_its_name() {
    for (text, name) in [
        ("", "file is empty"),
        (" \r\n\n", "file is empty"),
        ("\u{feff}\n", "file is empty"),
        ("{}", "the JSON is empty"),
        ("[]\n", "the JSON is empty"),
        (r#"{"traceEvents":[{"ph":"X","ts":1}]}"#, "Chrome trace"),
        (r#"{"a":1,"b":2}"#, "its keys: `a`, `b`"),
        (
            "time,trace,span\n1,2,3\n",
            "not JSON (begins with `time,trace,span`)",
        ),
        ("<HTML>\n<head>", "a web page (HTML)"),
        ("<?xml version=\"1.0\"?>", "XML"),
        ("# a heading", "not JSON (begins with `# a heading`)"),
        ("(lp0\nS'trace'\n", "a Python pickle"),
        ("Activity.TraceId: 0af7", ".NET's console exporter"),
        (
            r#"{"log":{"version":"1.2","entries":[{"startedDateTime":"x"}]}}"#,
            "a HAR file",
        ),
        (
            r#"{"traces":[{"traceID":"2f","rootServiceName":"a","durationMs":3}]}"#,
            "a search in Tempo",
        ),
        (
            r#"{"Id":"1","Segments":[{"Id":"2","Document":"{}"}]}"#,
            "X-Ray",
        ),
        (
            r#"[[{"trace_id":1,"span_id":2,"resource":"GET","start":3,"meta":{}}]]"#,
            "Datadog",
        ),
        (
            "\n\u{4}\u{8}\u{1}\u{10}\u{2}2\u{0}2\u{7}samples2\u{5}count2\u{3}cpu2\u{b}nanoseconds",
            "a pprof profile",
        ),
        ("PAR1\u{0}\u{1}", "Parquet"),
        ("\u{0}\u{1}\u{2}", "binary, and not OTLP protobuf"),
    ] {
        let loaded = read(text.as_bytes());
        let [problem] = &loaded.problems[..] else {
            panic!("{text}: {:?}", loaded.problems);
        };
        assert!(problem.reason.contains(name), "{text}: {problem}");
    }
    let utf16: Vec<u8> = "{\"a\":1}"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    for protocol in 2..=5 {
        let loaded = read(&[0x80, protocol, b'}', b'q', 0, b'.']);
        assert!(problems(&loaded)[0].contains("this is a Python pickle"));
    }
    let loaded = read(&[b"\xff\xfe", utf16.as_slice()].concat());
    assert!(problems(&loaded)[0].contains("save it as UTF-8"));
}

#[test]
fn logs_find_their_spans_and_other_signals_are_counted() {
    let log = |trace: u32, span: u32| {
        format!(
            r#"{{"resourceLogs":[{{"scopeLogs":[{{"logRecords":[{{"traceId":"{trace:032x}","spanId":"{span:016x}","attributes":[{{"key":"deadline.local_ms","value":{{"intValue":"3"}}}}]}}]}}]}}]}}"#
        )
    };
    let metrics = r#"{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"gauge":{"dataPoints":[{},{}]}}]}]}]}"#;
    let loaded = read(
        format!(
            "{}\n{metrics}\n{}\n{}\n",
            log(1, 1),
            log(9, 9),
            request(1, 1)
        )
        .as_bytes(),
    );
    assert_eq!(loaded.problems, []);
    assert_eq!(loaded.traces[0].logs.len(), 1);
    let skipped: Vec<_> = loaded
        .skipped
        .iter()
        .map(|s| (s.signal, s.count, s.no_traces))
        .collect();
    assert_eq!(
        skipped,
        [(Signal::Logs, 2, false), (Signal::Metrics, 2, false)]
    );

    let alone = read(log(1, 1).as_bytes());
    assert_eq!((alone.traces.len(), alone.problems.len()), (0, 0));
    assert_eq!(
        alone.skipped[0].to_string(),
        "f: no traces in this file (logs): 1 record skipped"
    );
    let empty = read(br#"{"resourceSpans":[]}"#);
    assert_eq!(
        empty.skipped[0].to_string(),
        "f: its lists of spans are empty"
    );
}

#[test]
fn one_bad_input_does_not_cost_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let paths: Vec<PathBuf> = vec![
        // The name says nothing: content decides.
        file("a.parquet", request(1, 1).as_bytes()),
        folder.path().join("missing.json"),
        file("bomb", &"[".repeat(1 << 20).into_bytes()),
        file("empty", b""),
        file("b.gz", request(1, 2).as_bytes()),
    ];
    let inputs: Vec<Input> = paths.iter().cloned().map(Input::from_argument).collect();
    let mut heard = Vec::new();
    let loaded = load(&inputs, &Limits::default(), &mut |done, total| {
        heard.push((done, total));
    });
    assert_eq!(shape(&loaded), [(1, vec![1, 2])]);
    let told = |path: &Path, reason: &str| {
        let problem = loaded
            .problems
            .iter()
            .find(|p| p.file == path.display().to_string());
        let problem = problem.unwrap_or_else(|| panic!("nothing of {}", path.display()));
        assert!(problem.reason.contains(reason), "{problem}");
    };
    told(&paths[1], "no such file");
    told(&paths[2], "cut off");
    told(&paths[3], "file is empty");
    assert_eq!(loaded.problems.len(), 3);
    assert!(
        heard.windows(2).all(|pair| pair[0].0 <= pair[1].0),
        "{heard:?}"
    );
}

#[test]
fn compressed_files_and_long_documents_are_capped() {
    let limits = Limits {
        max_inflated_bytes: 3 << 20,
        max_document_bytes: 2 << 20,
        ..Limits::default()
    };
    let lines: String = (1..100_000).map(|i| request(i, i) + "\n").collect();
    let loaded = load_bytes("f", &gzip(lines.as_bytes()), &limits);
    assert!(
        problems(&loaded)[1].contains("more comes out"),
        "{:?}",
        loaded.problems
    );
    assert!(loaded.spans > 0);
    let long = format!("{}{}", request(1, 1), " ".repeat(5 << 20));
    let loaded = load_bytes("f", long.as_bytes(), &limits);
    assert!(
        problems(&loaded)[0].contains("a document of more than"),
        "{:?}",
        loaded.problems
    );
}

#[test]
fn many_problems_are_told_in_part_and_counted() {
    let text = format!("{}\n{}", request(1, 1), "{oops\n".repeat(1000));
    let loaded = read(text.as_bytes());
    assert_eq!(loaded.problems.len(), 21);
    assert_eq!(
        problems(&loaded)[20],
        "f: and 980 more problems in this file"
    );
}

/// Several megabytes are cut into pieces for threads; what comes out is as if read in one go.
#[test]
fn pieces_on_many_threads_give_what_one_gives() {
    let mut lines = String::new();
    let mut expected: Vec<(u128, Vec<u64>)> = Vec::new();
    for i in 0..60_000_u32 {
        // Each trace comes back a while later, in another piece.
        let trace = i % 7_001 + 1;
        lines += &request(trace, i + 1);
        lines += if i % 1_000 == 999 {
            "\n{broken\n"
        } else {
            "\n"
        };
        match expected.get_mut(trace as usize - 1) {
            Some((_, spans)) => spans.push(u64::from(i) + 1),
            None => expected.push((u128::from(trace), vec![u64::from(i) + 1])),
        }
    }
    assert!(lines.len() > 6 << 20);
    let first = read(lines.as_bytes());
    assert_eq!(shape(&first), expected);
    assert_eq!(problems(&first)[0], "f:1001:2: not JSON: expected a string");
    assert_eq!(problems(&first)[1], "f:2002:2: not JSON: expected a string");
    assert_eq!(problems(&first)[20], "f: and 40 more problems in this file");
    for _ in 0..3 {
        assert_eq!(read(lines.as_bytes()), first);
    }
    assert!(
        first
            .traces
            .iter()
            .all(|trace| trace.id != TraceId::default())
    );
}
