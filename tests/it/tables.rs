//! The tables, and the Parquet files that hold them.

use std::collections::BTreeMap;

use dwindle::budget::{Policy, Typical, analyse};
use dwindle::files::{self, Input};
use dwindle::model::{Analysis, Request, Span, SpanLog, Trace, TraceId};
use dwindle::otlp::Limits;
use dwindle::store::parquet::{self, FileError, Source, SpanWriter};
use dwindle::store::tables::{self, Added, Builder, Table, Type, Wanted};
use polars::prelude::{AnyValue, DataFrame};
use proptest::prelude::*;

use crate::{otlp, spans, support};

/// Every sample's traces with what they mean.
fn samples() -> Vec<(Trace, Analysis)> {
    let inputs: Vec<Input> = support::samples()
        .into_iter()
        .map(Input::from_argument)
        .collect();
    let loaded = files::load(&inputs, &Limits::default(), &mut |_, _| {});
    assert_eq!(loaded.problems, []);
    let analysis = |trace: &Trace| analyse(trace, &Policy::default(), &Typical::default());
    let traces = loaded.traces.into_iter();
    traces
        .map(|trace| (analysis(&trace), trace))
        .map(|(a, t)| (t, a))
        .collect()
}

fn frames(traces: &[(Trace, Analysis)]) -> BTreeMap<Table, DataFrame> {
    let mut builder = Builder::new(&Wanted::tables(Table::ALL));
    for (trace, analysis) in traces {
        builder.add(trace, analysis);
    }
    builder.finish().unwrap().into_iter().collect()
}

fn floats(frame: &DataFrame, column: &str) -> Vec<Option<f64>> {
    frame
        .column(column)
        .unwrap()
        .f64()
        .unwrap()
        .iter()
        .collect()
}

fn texts<'a>(frame: &'a DataFrame, column: &str) -> Vec<Option<&'a str>> {
    frame
        .column(column)
        .unwrap()
        .str()
        .unwrap()
        .iter()
        .collect()
}

fn names_of(frame: &DataFrame) -> Vec<&str> {
    let names = frame.get_column_names().into_iter();
    names.map(polars::prelude::PlSmallStr::as_str).collect()
}

fn written(traces: &[(Trace, Option<&Analysis>)]) -> Vec<u8> {
    let mut writer = SpanWriter::new(Vec::new()).unwrap();
    for (trace, analysis) in traces {
        writer.add(trace, *analysis).unwrap();
    }
    writer.finish().unwrap()
}

fn read(bytes: &[u8]) -> Result<(Vec<Span>, Vec<SpanLog>), FileError> {
    let (mut spans, mut logs) = (Vec::new(), Vec::new());
    parquet::read_spans(Source::Bytes(bytes.to_vec()), &mut |more, records| {
        spans.extend(more);
        logs.extend(records);
        true
    })?;
    Ok((spans, logs))
}

#[test]
fn each_table_has_the_columns_that_its_schema_says() {
    let traces = samples();
    for (table, frame) in frames(&traces) {
        let names: Vec<&str> = table.columns().iter().map(|column| column.name).collect();
        assert_eq!(names_of(&frame), names, "{table}");
        assert!(frame.height() >= 20, "{table}: {}", frame.height());
        for column in table.columns() {
            let at = format!("{table}.{}", column.name);
            let filled = frame.column(column.name).unwrap();
            let expected = match column.kind {
                Type::Id | Type::Text | Type::Json => "str",
                Type::Ms | Type::Share => "f64",
                Type::Count | Type::Number => "i64",
                Type::Flag => "bool",
                Type::Time => "datetime[ns]",
            };
            assert_eq!(filled.dtype().to_string(), expected, "{at}");
            assert!(
                column.nullable || filled.null_count() == 0,
                "{at} has nulls"
            );
            let is_ms = column.name.ends_with("_ms") || column.name == "ms";
            assert_eq!(is_ms, column.kind == Type::Ms, "{at}");
            assert!(
                column.doc.ends_with('.') && column.doc.len() > 4,
                "{at}: {}",
                column.doc
            );
        }
    }
}

/// Columns that no sample fills. What cannot be filled would be of the wrong type.
#[test]
fn nearly_every_column_is_filled_by_some_sample() {
    let empty: Vec<String> = frames(&samples())
        .iter()
        .flat_map(|(table, frame)| {
            let filled = |name: &str| frame.column(name).unwrap().null_count() < frame.height();
            let columns = table
                .columns()
                .iter()
                .filter(move |column| !filled(column.name));
            columns.map(move |column| format!("{table}.{}", column.name))
        })
        .collect();
    insta::assert_snapshot!(empty.join("\n"));
}

#[test]
fn ledgers_sum_to_the_time_of_their_requests() {
    let frames = frames(&samples());
    let mut sums: BTreeMap<(&str, &str), i64> = BTreeMap::new();
    let ledger = &frames[&Table::Ledger];
    let keys = |frame| {
        texts(frame, "trace_id")
            .into_iter()
            .zip(texts(frame, "request"))
    };
    for ((trace, request), ms) in keys(ledger).zip(floats(ledger, "ms")) {
        *sums.entry((trace.unwrap(), request.unwrap())).or_default() +=
            tables::nanos(ms.unwrap()).0;
    }
    let requests = &frames[&Table::Requests];
    let mut compared = 0;
    for ((trace, request), ms) in keys(requests).zip(floats(requests, "elapsed_ms")) {
        let sum = sums
            .remove(&(trace.unwrap(), request.unwrap()))
            .unwrap_or(0);
        assert_eq!(sum, tables::nanos(ms.unwrap()).0);
        compared += 1;
    }
    assert!(compared > 20 && sums.is_empty());
}

#[test]
fn durations_of_up_to_26_days_keep_their_nanoseconds() {
    let mut random = support::Random::new(7);
    let mut check = |nanos: i64| {
        assert_eq!(tables::nanos(nanos as f64 / 1e6).0, nanos);
        assert_eq!(tables::nanos(-nanos as f64 / 1e6).0, -nanos);
    };
    for _ in 0..200_000 {
        check(random.below(1 << 31) as i64 * 1_048_573 % (1 << 51));
    }
    ((1 << 51) - 1000..=1 << 51).for_each(&mut check);
    (0..1000).for_each(check);
}

#[test]
fn the_rows_are_the_same_whichever_builder_took_which_trace() {
    let traces = samples();
    let whole = frames(&traces);
    let wanted = Wanted::tables(Table::ALL);
    let mut builders: Vec<Builder> = (0..3).map(|_| Builder::new(&wanted)).collect();
    let mut order: Vec<Option<(usize, Added)>> = vec![None; traces.len()];
    // The last traces first, and to one builder after the other.
    for (index, (trace, analysis)) in traces.iter().enumerate().rev() {
        let builder = index * 7 % 3;
        order[index] = Some((builder, builders[builder].add(trace, analysis)));
    }
    let order: Vec<_> = order.into_iter().map(Option::unwrap).collect();
    for (table, frame) in tables::join(&wanted, builders, &order).unwrap() {
        assert!(frame.equals_missing(&whole[&table]), "{table}");
    }
}

#[test]
fn only_wanted_columns_are_built() {
    let names = ["outcome", "elapsed_ms", "no_such"].map(str::to_owned);
    let wanted = Wanted::tables([Table::Requests, Table::Spans]).only_columns(names);
    let mut builder = Builder::new(&wanted);
    for (trace, analysis) in samples() {
        builder.add(&trace, &analysis);
    }
    let frames = builder.finish().unwrap();
    let columns: Vec<(Table, Vec<&str>)> = frames
        .iter()
        .map(|(table, frame)| (*table, names_of(frame)))
        .collect();
    assert_eq!(
        columns,
        [
            (Table::Requests, vec!["trace_id", "elapsed_ms", "outcome"]),
            (Table::Spans, vec!["trace_id", "elapsed_ms"]),
        ]
    );
}

#[test]
fn spans_say_to_which_hop_they_belong() {
    let traces = samples();
    let frame = &frames(&traces)[&Table::Spans];
    let hops = frame.column("hop").unwrap().i64().unwrap().clone();
    let rows = texts(frame, "span_id")
        .into_iter()
        .zip(texts(frame, "request"))
        .zip(hops.iter());
    let by_span: BTreeMap<&str, (Option<&str>, Option<i64>)> = rows
        .map(|((span, request), hop)| (span.unwrap(), (request, hop)))
        .collect();
    let mut compared = 0;
    for request in traces.iter().flat_map(|(_, analysis)| &analysis.requests) {
        let Request {
            request: id, hops, ..
        } = request;
        for hop in hops {
            let place = by_span[hop.span_id.to_string().as_str()];
            assert_eq!(place, (Some(id.to_string().as_str()), Some(hop.id as i64)));
            compared += 1;
        }
    }
    assert!(compared > 60, "{compared}");
}

#[test]
fn parquet_gives_back_spans_and_logs_as_they_were() {
    let traces: Vec<Trace> = (0..3)
        .map(|n| Trace {
            id: spans::trace_id(n),
            spans: vec![
                spans::span(n, 1, None),
                spans::span(n, 2, Some(1)),
                spans::span(n, 1, None),
            ],
            logs: vec![
                spans::log(n, 2),
                SpanLog {
                    body: "deadline \"exceeded\"".into(),
                    ..spans::log(n, 2)
                },
                spans::log(n, 9),
            ],
        })
        .collect();
    let bytes = written(
        &traces
            .iter()
            .map(|trace| (trace.clone(), None))
            .collect::<Vec<_>>(),
    );
    let (found, mut logs) = read(&bytes).unwrap();
    let expected: Vec<Span> = traces
        .iter()
        .flat_map(|trace| trace.spans.clone())
        .collect();
    assert_eq!(found, expected);
    let mut expected: Vec<SpanLog> = traces.iter().flat_map(|trace| trace.logs.clone()).collect();
    logs.sort_by_key(|log| (log.trace_id, log.span_id));
    expected.sort_by_key(|log| (log.trace_id, log.span_id));
    assert_eq!(logs, expected);
}

#[test]
fn many_row_groups_are_one_table() {
    let trace = |n: u64| Trace {
        id: spans::trace_id(n),
        spans: (1..=50_001).map(|id| spans::span(n, id, None)).collect(),
        logs: Vec::new(),
    };
    let traces: Vec<(Trace, Option<&Analysis>)> = (0..5).map(|n| (trace(n), None)).collect();
    let bytes = written(&traces);
    let (mut pieces, mut found) = (0, Vec::new());
    parquet::read_spans(Source::Bytes(bytes), &mut |spans, _| {
        pieces += 1;
        found.extend(spans.into_iter().map(|span| (span.trace_id, span.span_id)));
        true
    })
    .unwrap();
    assert_eq!(pieces, 3);
    let expected: Vec<_> = (0..5)
        .flat_map(|n| (1..=50_001).map(move |id| (spans::trace_id(n), spans::span_id(id))))
        .collect();
    assert!(found == expected);
}

#[test]
fn no_spans_are_a_file_too() {
    assert_eq!(read(&written(&[])).unwrap(), (Vec::new(), Vec::new()));
}

/// Whatever byte is not as it was, the file is refused, and nothing of it is handed over.
#[test]
fn a_flipped_byte_anywhere_is_found() {
    let traces: Vec<_> = samples()
        .into_iter()
        .take(4)
        .map(|(trace, _)| (trace, None))
        .collect();
    let bytes = written(&traces);
    assert!(read(&bytes).is_ok());
    let step = bytes.len() / 600 + 1;
    let last = bytes.len() - 200..bytes.len();
    for at in (4..bytes.len()).step_by(step).chain(last) {
        let mut bad = bytes.clone();
        bad[at] ^= 0x10;
        let mut handed = 0;
        let result = parquet::read_spans(Source::Bytes(bad), &mut |spans, _| {
            handed += spans.len();
            true
        });
        assert!(
            result.is_err() && handed == 0,
            "byte {at} of {}",
            bytes.len()
        );
    }
}

#[test]
fn a_cut_file_says_so_wherever_it_is_cut() {
    let traces: Vec<_> = samples()
        .into_iter()
        .take(2)
        .map(|(trace, _)| (trace, None))
        .collect();
    let bytes = written(&traces);
    for length in (4..bytes.len()).step_by(bytes.len() / 200 + 1) {
        let error = read(&bytes[..length]).unwrap_err();
        assert!(
            matches!(error, FileError::CutOff | FileError::Damaged(_)),
            "{length}: {error}"
        );
    }
    let error = read(&bytes[..bytes.len() - 1]).unwrap_err().to_string();
    assert!(
        error.contains("cut off") && error.contains("copy it again"),
        "{error}"
    );
}

#[test]
fn what_others_wrote_is_refused_with_its_columns() {
    let frame = polars::df!("user" => ["a", "b"], "amount" => [1, 2]).unwrap();
    let mut bytes = Vec::new();
    polars::prelude::ParquetWriter::new(&mut bytes)
        .finish(&mut frame.clone())
        .unwrap();
    let error = read(&bytes).unwrap_err().to_string();
    assert!(
        error.contains("did not write (columns user, amount)"),
        "{error}"
    );
}

#[test]
fn another_table_and_a_newer_format_are_refused_by_name() {
    let traces = samples();
    let frames = frames(&traces);
    let bytes = parquet::write(Table::Hops, &frames[&Table::Hops], Vec::new()).unwrap();
    let error = read(&bytes).unwrap_err().to_string();
    assert!(error.contains("holds the table `hops`"), "{error}");

    let metadata = polars::prelude::KeyValueMetadata::from_static(vec![
        (
            "dwindle.format".to_owned(),
            (parquet::FORMAT + 1).to_string(),
        ),
        ("dwindle.version".to_owned(), "9.9.9".to_owned()),
    ]);
    let mut bytes = Vec::new();
    polars::prelude::ParquetWriter::new(&mut bytes)
        .with_key_value_metadata(Some(metadata))
        .finish(&mut frames[&Table::Spans].clone())
        .unwrap();
    let error = read(&bytes).unwrap_err().to_string();
    assert!(
        error.contains("of format 2 (written by Dwindle 9.9.9)"),
        "{error}"
    );
}

#[test]
fn instants_beyond_2262_are_held_at_the_end_and_come_back() {
    let mut span = spans::span(1, 1, None);
    span.start.0 = u64::MAX - 1;
    span.end.0 = u64::MAX;
    let trace = Trace {
        id: span.trace_id,
        spans: vec![span.clone()],
        logs: Vec::new(),
    };
    let frame = &frames(&[(trace.clone(), Analysis::default())])[&Table::Spans];
    let start = frame.column("start").unwrap().get(0).unwrap().into_static();
    assert!(
        matches!(start, AnyValue::DatetimeOwned(i64::MAX, _, _)),
        "{start:?}"
    );
    assert_eq!(read(&written(&[(trace, None)])).unwrap().0, [span]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_span_that_otlp_holds_comes_back_from_parquet(spans in otlp::batch()) {
        let trace = Trace { id: TraceId::default(), spans, logs: Vec::new() };
        let (found, _) = read(&written(&[(trace.clone(), None)])).unwrap();
        prop_assert_eq!(&found, &trace.spans);
        // Whoever shared a resource or a scope shares it again.
        let shared = |spans: &[Span]| {
            let mut pointers: Vec<_> = spans.iter().map(|s| std::sync::Arc::as_ptr(&s.resource)).collect();
            pointers.sort();
            pointers.dedup();
            pointers.len()
        };
        prop_assert!(shared(&found) <= shared(&trace.spans));
    }
}
