//! A slow second implementation over the JSON of a request, to hold evaluation to.
//!
//! It finds values by the keys that people read, and compares them as they are printed.

use std::collections::BTreeMap;

use polars::prelude::{DataFrame, IntoLazy as _, PolarsError, col};
use proptest::prelude::*;
use serde_json::Value as Json;

use super::tests::expr;
use super::*;
use crate::model::{
    Analysis, Culprit, Finding, How, Nanos, Note, Outcome, Part, Rule, Source, Trace, Verdict,
};
use crate::query::fixtures::{chain, fan_out, finding, ms};
use crate::store::tables::{Builder, Table, Wanted};

fn matches(expr: &Expr, request: &Json) -> bool {
    match expr {
        Expr::Or(members) => members.iter().any(|one| matches(one, request)),
        Expr::And(members) => members.iter().all(|one| matches(one, request)),
        Expr::Not(inner) => !matches(inner, request),
        // A request that has but this one has it.
        Expr::One(of, inner) => {
            let mut each = parts(*of, request).into_iter();
            each.any(|part| matches(inner, &part))
        }
        Expr::Test(test) => values(test.field, request)
            .iter()
            .any(|value| holds(test, value)),
    }
}

/// The request with each of its hops, calls and so on alone.
fn parts(of: Of, request: &Json) -> Vec<Json> {
    let list = |of: &Json, key: &str| of[key].as_array().unwrap().clone();
    let with = |key: &str, one: Json| {
        let mut alone = request.clone();
        alone[key] = Json::Array(vec![one]);
        alone
    };
    let each = |key: &str| {
        list(request, key)
            .into_iter()
            .map(|one| with(key, one))
            .collect()
    };
    match of {
        Of::Ledger => each("ledger"),
        Of::Finding => each("findings"),
        Of::Hop => each("hops"),
        Of::Call => {
            let mut found = Vec::new();
            for hop in list(request, "hops") {
                for call in list(&hop, "calls") {
                    let mut alone = hop.clone();
                    alone["calls"] = Json::Array(vec![call]);
                    found.push(with("hops", alone));
                }
            }
            found
        }
        Of::Request | Of::Note => vec![request.clone()],
    }
}

/// The values that a field has: one of a request, any number of its hops and so on.
fn values(field: &Field, request: &Json) -> Vec<Json> {
    let list = |of: &Json, key: &str| of[key].as_array().unwrap().clone();
    let under = |of: Vec<Json>, path: &str| of.iter().map(|one| at(one, path)).collect();
    match field.name.split_once('.') {
        _ if field.name == "used" => vec![used(request)],
        Some(("hop", path)) => under(list(request, "hops"), path),
        Some(("ledger", path)) => under(
            list(request, "ledger"),
            if path == "time" { "ms" } else { path },
        ),
        Some(("finding", "count")) => under(list(request, "findings"), "evidence.count"),
        Some(("finding", path)) => under(list(request, "findings"), path),
        Some(("call", path)) => {
            let mut all = Vec::new();
            for hop in list(request, "hops") {
                for call in list(&hop, "calls") {
                    all.push(if path == "service" {
                        hop["service"].clone()
                    } else {
                        at(&call, path)
                    });
                }
            }
            all
        }
        _ if field.name == "notes" => list(request, "notes"),
        _ => vec![at(request, field.name)],
    }
}

/// What stands under a path, with or without `_ms`; nothing of nothing.
fn at(of: &Json, path: &str) -> Json {
    let mut here = of;
    for key in path.split('.') {
        here = match (here.get(key), here.get(format!("{key}_ms"))) {
            (Some(value), _) | (None, Some(value)) => value,
            (None, None) => {
                assert!(here.is_null(), "no {path} in {of}");
                return Json::Null;
            }
        };
    }
    here.clone()
}

fn used(request: &Json) -> Json {
    match request["budget_ms"].as_f64() {
        // Of no budget there is no part. These budgets have no fractions of a microsecond.
        Some(budget) if budget > 0.0 => {
            let part = request["elapsed_ms"].as_f64().unwrap() / budget;
            Json::from((part * 1e6).trunc() / 1e6)
        }
        _ => Json::Null,
    }
}

fn holds(test: &Test, value: &Json) -> bool {
    let equal = |same: bool| if test.op == Op::Ne { !same } else { same };
    let ordered = |value: f64, wanted: f64| {
        // Both have six decimals or fewer, or differ by far.
        let order = if (value - wanted).abs() < 1e-9 * wanted.abs().max(1.0) {
            0.0
        } else {
            value - wanted
        };
        match test.op {
            Op::Eq => order == 0.0,
            Op::Ne => order != 0.0,
            Op::Lt => order < 0.0,
            Op::Le => order <= 0.0,
            Op::Gt => order > 0.0,
            Op::Ge => order >= 0.0,
            Op::Match => false,
        }
    };
    if matches!(test.literal, Literal::Null) {
        return equal(value.is_null());
    }
    match (&test.literal, value) {
        (_, Json::Null) => false,
        (Literal::Id(digits), Json::String(id)) => equal(id.starts_with(digits.as_str())),
        (Literal::Text(text), Json::String(value)) => equal(text == value),
        (Literal::Pattern(pattern), Json::String(value)) => pattern.is_match(value),
        (Literal::Time(wanted), value) => ordered(value.as_f64().unwrap(), wanted.0 as f64 / 1e6),
        (Literal::Count(wanted), value) => ordered(value.as_f64().unwrap(), *wanted as f64),
        (Literal::Share(wanted), value) => ordered(value.as_f64().unwrap(), *wanted as f64 / 1e8),
        (Literal::Flag(wanted), Json::Bool(value)) => equal(wanted == value),
        (Literal::Instant(wanted), Json::String(value)) => {
            let value = instant(value, None).unwrap();
            ordered(f64::from(value.cmp(wanted) as i8), 0.0)
        }
        (literal, value) => panic!("{literal:?} and {value}"),
    }
}

/// A request that is like no other: the worked ones with other values in places.
fn request() -> impl Strategy<Value = Request> {
    (any::<[u16; 12]>(), any::<bool>()).prop_map(|(n, is_chain)| {
        let mut request = if is_chain { chain() } else { fan_out() };
        let pick = |i: usize, of: usize| usize::from(n[i]) % of;
        request.outcome = Outcome::ALL[pick(0, Outcome::ALL.len())];
        request.budget = (n[1] % 3 > 0).then(|| ms(i64::from(n[1] % 5) * 250));
        request.wasted = Nanos(i64::from(n[2]) * 1_234_567);
        request.complete = n[3].is_multiple_of(2);
        request.spans = pick(3, 20);
        if n[4].is_multiple_of(3) {
            request.notes.push(Note::MissingParent(pick(4, 5)));
        }
        request.budget_source = Source {
            key: (n[5] % 2 > 0).then(|| "grpc-timeout".into()),
            ..Source::of(How::ALL[pick(5, How::ALL.len())])
        };
        request.culprit = (n[6] % 4 > 0).then(|| Culprit {
            service: ["pricing", "db", ""][pick(6, 3)].into(),
            operation: "Quote".into(),
            part: Part::ALL[pick(7, Part::ALL.len())],
            to: (n[7] % 2 > 0).then(|| "postgres".into()),
            consumed: ms(i64::from(n[7] % 100)),
            share: (ms(i64::from(n[7] % 100)), ms(100)),
            typical: (n[8] % 2 > 0).then(|| ms(41)),
            excess: None,
        });
        if n[8].is_multiple_of(5) {
            request.surfaced = None;
        }
        for (hop, n) in request.hops.iter_mut().zip(n) {
            hop.verdict = Verdict::ALL[usize::from(n) % Verdict::ALL.len()];
            hop.remaining_in = (n % 4 > 0).then(|| ms(i64::from(n) - 30_000));
            hop.reported = (n % 5 == 0).then(|| "ok".into());
        }
        let more: Vec<Finding> = (0..n[9] % 3)
            .map(|i| {
                finding(
                    Rule::ALL[(pick(9, 20) + usize::from(i)) % Rule::ALL.len()],
                    0,
                    "edge",
                    None,
                )
            })
            .collect();
        request.findings.extend(more);
        request
    })
}

/// Which of the requests a filter takes from the tables that hold them.
fn taken(filter: &Filter, requests: &[Request]) -> Vec<bool> {
    let mut builder = Builder::new(&Wanted::tables(Table::ALL));
    for request in requests {
        let analysis = Analysis {
            trace_id: request.trace_id,
            requests: vec![request.clone()],
            failed: false,
        };
        builder.add(&Trace::default(), &analysis);
    }
    let frames: BTreeMap<Table, DataFrame> = builder.finish().unwrap().into_iter().collect();
    let scan = |table: Table| Ok::<_, PolarsError>(frames[&table].clone().lazy());
    let rows = filter.tabled().rows(scan(Table::Requests).unwrap(), scan);
    let found = rows.unwrap().select([col("trace_id")]).collect().unwrap();
    let ids = found.column("trace_id").unwrap().str().unwrap();
    let ids: Vec<&str> = ids.iter().map(Option::unwrap).collect();
    let times = |id: String| ids.iter().filter(|found| **found == id).count();
    let found = requests.iter().map(|one| times(one.trace_id.to_string()));
    found
        .map(|times| {
            assert!(times < 2, "a request is there {times} times");
            times == 1
        })
        .collect()
}

proptest! {
    #[test]
    fn tables_say_what_the_requests_say(text in expr(), mut requests in prop::collection::vec(request(), 1..6)) {
        let filter = Filter::parse(&text).map_err(|error| TestCaseError::fail(format!("{text}: {error}")))?;
        for (number, request) in requests.iter_mut().enumerate() {
            request.trace_id.0[0] ^= number as u8;
        }
        let wanted: Vec<bool> = requests.iter().map(|one| filter.matches(one)).collect();
        prop_assert_eq!(taken(&filter, &requests), wanted, "{}", filter);
    }

    #[test]
    fn evaluation_says_what_the_json_says(text in expr(), request in request()) {
        let filter = Filter::parse(&text).map_err(|error| TestCaseError::fail(format!("{text}: {error}")))?;
        let json = serde_json::to_value(&request).unwrap();
        prop_assert_eq!(filter.matches(&request), matches(&filter.root, &json), "{}", filter);
    }

    /// Values that the request has, so that equality is met, too.
    #[test]
    fn what_a_request_has_is_found(request in request(), index in 0..fields().len(), nth in any::<usize>()) {
        let field = &fields()[index];
        let json = serde_json::to_value(&request).unwrap();
        let values = values(field, &json);
        if values.is_empty() {
            return Ok(());
        }
        let value = match (&values[nth % values.len()], field.kind) {
            (Json::Null, _) => "null".to_owned(),
            (_, Kind::Object) => return Ok(()),
            (Json::String(text), _) => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
            (number, Kind::Time) => format!("{number}ms"),
            (number, Kind::Share) => format!("{}%", (number.as_f64().unwrap() * 1e6).round() / 1e4),
            (other, _) => other.to_string(),
        };
        for op in ["=", "!="] {
            let text = format!("{}{op}{value}", field.name);
            let filter = Filter::parse(&text).map_err(|error| TestCaseError::fail(format!("{text}: {error}")))?;
            let found = filter.matches(&request);
            prop_assert!(found || op == "!=", "{}", text);
            prop_assert_eq!(found, matches(&filter.root, &json), "{}", text);
            prop_assert_eq!(taken(&filter, std::slice::from_ref(&request)), [found], "{}", text);
        }
    }
}
