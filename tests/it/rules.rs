//! The rule table against what is known of other people's systems: `deadline-rules.json` of the
//! corpus lists every rule with its grammar, its examples and what is near but none.

use std::collections::BTreeMap;
use std::sync::Arc;

use dwindle::budget::{CustomRule, Field, Grammar, Listed, Place, Policy, Rules, Typical, analyse};
use dwindle::model::{
    Event, How, Kind, Outcome, Request, Resource, Rule, Source, Span, SpanId, SpanLog, Status,
    StatusCode, Trace, TraceId, UnixNanos, Value,
};
use serde_json::Value as Json;

use crate::support::corpus;

/// Ten seconds before 2030: what the examples of instants tell lies ahead.
const START: u64 = 1_893_455_990_000_000_000;

/// Names of grammars there, and ours.
const GRAMMARS: &[(&str, Grammar)] = &[
    ("grpc_timeout", Grammar::GrpcTimeout),
    ("int_ms", Grammar::Millis),
    ("num_s", Grammar::Seconds),
    ("int_ns", Grammar::Nanos),
    ("go_duration", Grammar::GoDuration),
    ("l5d_duration", Grammar::LinkerdDuration),
    ("epoch_ms", Grammar::EpochMillis),
    ("epoch_s", Grammar::EpochSeconds),
    ("rfc3339", Grammar::Rfc3339),
    ("http_date", Grammar::HttpDate),
    ("finagle_pair", Grammar::FinaglePair),
    ("finagle_fmt", Grammar::FinagleTime),
    ("aws_sdk_request", Grammar::AwsSdkRequest),
    ("prefer_wait", Grammar::PreferWait),
    ("dotnet_timespan", Grammar::TimeSpan),
    ("iso8601_duration", Grammar::IsoDuration),
    ("scala_duration", Grammar::ScalaDuration),
    ("celery_timelimit", Grammar::CeleryTimelimit),
    ("grpc_deadline_millis", Grammar::OptionalMillis),
    ("timex", Grammar::Timex),
    ("bool", Grammar::Flag),
    ("int", Grammar::Count),
    ("guess_duration_or_abs", Grammar::Guess),
];

fn span(kind: Kind, attributes: &[(&str, &str)]) -> Span {
    let pairs = attributes.iter();
    let name = Value::Str("shop".into());
    Span {
        trace_id: TraceId([7; 16]),
        span_id: SpanId([1; 8]),
        name: "work".into(),
        kind,
        start: UnixNanos(START),
        end: UnixNanos(START + 1_000_000),
        attributes: pairs
            .map(|(key, value)| (*key, Value::Str((*value).into())))
            .collect(),
        resource: Arc::new(Resource::new(
            [("service.name", name)].into_iter().collect(),
        )),
        ..Span::default()
    }
}

fn analysed(span: Span, rules: Arc<Rules>) -> Request {
    analysed_all(vec![span], rules)
}

fn analysed_all(spans: Vec<Span>, rules: Arc<Rules>) -> Request {
    let trace = Trace {
        id: spans[0].trace_id,
        spans,
        logs: vec![],
    };
    let policy = Policy {
        rules,
        ..Policy::default()
    };
    let mut requests = analyse(&trace, &policy, &Typical::default()).requests;
    assert_eq!(requests.len(), 1);
    requests.remove(0)
}

/// Where the time was read that a span tells: for its own wait, or what it sets on its connection
/// for the next statement there.
fn told_by(span_of: Span, field: Field) -> Source {
    if field != Field::Session {
        return analysed(span_of, Rules::builtin()).budget_source;
    }
    let handler = Span {
        span_id: SpanId([2; 8]),
        end: UnixNanos(START + 5_000_000),
        ..span(Kind::Server, &[])
    };
    let below = |id, after: u64, call: Span| Span {
        span_id: SpanId([id; 8]),
        parent_id: Some(handler.span_id),
        start: UnixNanos(START + after),
        end: UnixNanos(START + after + 1_000_000),
        ..call
    };
    let next = span(Kind::Client, &[("db.query.text", "SELECT 1")]);
    let spans = vec![
        below(3, 1_000_000, span_of),
        below(4, 3_000_000, next),
        handler,
    ];
    let request = analysed_all(spans, Rules::builtin());
    let [set, next] = &request.hops[0].calls[..] else {
        panic!("{request:?}");
    };
    assert_eq!(set.timeout, None);
    next.timeout_source.clone()
}

fn failing(kind: Kind, message: &str) -> Span {
    Span {
        status: Status {
            code: StatusCode::Error,
            message: message.into(),
        },
        ..span(kind, &[])
    }
}

fn is_bad(request: &Request) -> bool {
    request
        .findings
        .iter()
        .any(|finding| finding.rule == Rule::BadDeadlineValue)
}

/// The file of the corpus, if there is one.
fn facts() -> Option<Json> {
    let text = std::fs::read_to_string(corpus()?.join("deadline-rules.json")).unwrap();
    Some(serde_json::from_str(&text).unwrap())
}

fn texts<'a>(rule: &'a Json, key: &str) -> Vec<&'a str> {
    let list = rule[key].as_array();
    list.map_or(vec![], |list| {
        list.iter().map(|text| text.as_str().unwrap()).collect()
    })
}

#[test]
fn every_rule_of_the_corpus_is_in_the_table_and_on_or_off_alike() {
    let Some(facts) = facts() else { return };
    let listed: BTreeMap<&str, Listed> = Rules::listed()
        .into_iter()
        .map(|rule| (rule.id, rule))
        .collect();
    let mut compared = 0;
    for rule in facts["rules"].as_array().unwrap() {
        // How a span ended is another table's.
        if rule["field"] == "outcome" {
            continue;
        }
        let id = rule["id"].as_str().unwrap();
        let ours = listed.get(id).unwrap_or_else(|| panic!("{id} is missing"));
        let on = rule["default_on"] != false && rule["confidence"] != "low";
        assert_eq!(ours.on, on || id == "hdr.x-deadline", "{id}");
        if let Some(key) = rule["key"].as_str() {
            let key = match ours.place {
                "header" => key.to_lowercase().replace('_', "-"),
                _ => key.to_owned(),
            };
            assert!(ours.keys.contains(&key.as_str()), "{id}: {key}");
        }
        compared += 1;
    }
    assert!(compared > 130, "{compared}");
}

#[test]
fn every_grammar_of_the_corpus_reads_its_examples_and_refuses_the_rest() {
    let Some(facts) = facts() else { return };
    let theirs = facts["grammars"].as_object().unwrap();
    assert_eq!(theirs.len(), GRAMMARS.len());
    for (name, grammar) in GRAMMARS {
        let field = match grammar {
            Grammar::Flag | Grammar::Count => Field::Resend,
            _ => Field::Remaining,
        };
        let own = CustomRule {
            key: "k".into(),
            place: Place::Attribute,
            grammar: *grammar,
            field,
        };
        let rules = Rules::new(&[own], &[]).unwrap();
        let read = |text: &str| analysed(span(Kind::Server, &[("k", text)]), Arc::clone(&rules));
        let theirs = &theirs[*name];
        for example in theirs["examples"].as_array().unwrap() {
            let text = example[0].as_str().unwrap();
            let request = read(text);
            assert!(!is_bad(&request), "{name}: {text}");
            let budget = request.budget.map(|budget| budget.0);
            match (example[1].as_i64(), theirs["kind"].as_str().unwrap()) {
                // Of a hard and a soft limit the soft one comes first.
                (Some(_), _) if *grammar == Grammar::CeleryTimelimit => {
                    assert_eq!(budget, Some(240_000_000_000), "{text}");
                }
                (Some(nanos), "absolute") => {
                    assert_eq!(budget, Some(nanos - START as i64), "{name}: {text}");
                }
                (Some(nanos), _) => assert_eq!(budget, Some(nanos), "{name}: {text}"),
                _ => {}
            }
        }
        for text in texts(theirs, "bad") {
            let request = read(text);
            assert!(
                is_bad(&request) && request.budget.is_none(),
                "{name}: {text}"
            );
        }
    }
}

#[test]
fn every_example_of_the_corpus_is_read_and_no_other() {
    let Some(facts) = facts() else { return };
    let listed: BTreeMap<&str, Listed> = Rules::listed()
        .into_iter()
        .map(|rule| (rule.id, rule))
        .collect();
    let mut read = 0;
    for rule in facts["rules"].as_array().unwrap() {
        let id = rule["id"].as_str().unwrap();
        let Some(ours) = listed.get(id).filter(|_| rule["field"] != "outcome") else {
            continue;
        };
        let kind = match id {
            "msg.finagle.deadlinefilter" | "msg.lambda" => Kind::Server,
            _ => Kind::Client,
        };
        let make = |text: &str| match rule["where"].as_str().unwrap() {
            "message" => Some(failing(kind, text)),
            "url_query" => Some(span(kind, &[("url.full", text)])),
            "db_text" => Some(span(kind, &[("db.query.text", text)])),
            _ => None,
        };
        for text in texts(rule, "examples") {
            let Some(span) = make(text) else { continue };
            let source = told_by(span, ours.field);
            if ours.field == Field::Nothing {
                assert_ne!(source.how, How::Observed, "{id}: {text}");
                continue;
            }
            assert_ne!(source.how, How::None, "{id}: {text}");
            let value = source.value.unwrap();
            assert!(
                text.contains(value.trim_end_matches("...")),
                "{id}: {value}"
            );
            assert!(source.key.is_some_and(|key| !key.is_empty()), "{id}");
            read += 1;
        }
        for text in texts(rule, "non_examples") {
            let Some(span) = make(text) else { continue };
            // It may be an example of another rule.
            let others = facts["rules"].as_array().unwrap().iter();
            let another = others
                .filter(|other| other["where"] == rule["where"] && other["id"] != rule["id"])
                .any(|other| {
                    texts(other, "examples")
                        .iter()
                        .any(|example| is_like(example, text))
                });
            let source = told_by(span, ours.field);
            assert!(source.how != How::Observed || another, "{id}: {text}");
        }
    }
    assert!(read > 30, "{read}");
}

/// Whether two texts differ in their numbers only, from the word with the first one on.
fn is_like(example: &str, text: &str) -> bool {
    let words = |text: &str| -> String {
        let query = text.rsplit(['?', '&']).next().unwrap_or_default();
        query.chars().filter(|c| !c.is_ascii_digit()).collect()
    };
    words(example) == words(text)
}

#[test]
fn every_key_of_the_corpus_that_is_on_is_read_and_every_other_is_named() {
    let Some(facts) = facts() else { return };
    let grammars: BTreeMap<&str, &Json> = facts["grammars"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, grammar)| (name.as_str(), &grammar["examples"]))
        .collect();
    let listed: BTreeMap<&str, Listed> = Rules::listed()
        .into_iter()
        .map(|rule| (rule.id, rule))
        .collect();
    for rule in facts["rules"].as_array().unwrap() {
        let id = rule["id"].as_str().unwrap();
        let Some(ours) = listed.get(id).filter(|_| rule["field"] != "outcome") else {
            continue;
        };
        let (Some(key), Some(grammar)) = (rule["key"].as_str(), rule["grammar"].as_str()) else {
            continue;
        };
        let key = match ours.place {
            "header" => format!("http.request.header.{key}"),
            _ => key.to_owned(),
        };
        let examples = grammars[grammar].as_array().unwrap();
        let value = examples[examples.len() - 1][0].as_str().unwrap();
        // Of what may be either, a message's lifetime is a duration.
        let value = if id == "hdr.nats-ttl" { "30s" } else { value };
        let beside = [
            ("persistence.store", "Shard"),
            ("messaging.system", "rabbitmq"),
            ("max_attempts", "3"),
        ];
        let mut budgets = Vec::new();
        for kind in [Kind::Client, Kind::Server] {
            let mut pairs = beside.to_vec();
            pairs.push((&key, value));
            let request = analysed(span(kind, &pairs), Rules::builtin());
            assert!(!is_bad(&request), "{id}: {value}");
            let named = request
                .notes
                .iter()
                .any(|note| note.to_string().contains(&key));
            assert_eq!(named, !ours.on && ours.field != Field::Nothing, "{id}");
            // A key may tell that a timeout fired, and leave its length to be inferred.
            let read = request.budget_source.how == How::Observed;
            budgets.extend(request.budget.filter(|_| read));
        }
        let counts = matches!(ours.field, Field::Resend | Field::Attempt | Field::Nothing);
        let is_none = value == "null";
        assert_eq!(
            budgets.is_empty(),
            !ours.on || counts || is_none,
            "{id}: {value}"
        );
    }
}

#[test]
fn an_exception_and_a_log_record_tell_what_a_status_does() {
    let message = Value::Str("timeout of 5000ms exceeded".into());
    let event = Event {
        name: "exception".into(),
        attributes: [("exception.message", message)].into_iter().collect(),
        ..Event::default()
    };
    let thrown = Span {
        events: vec![event],
        ..span(Kind::Client, &[])
    };
    let request = analysed(thrown, Rules::builtin());
    assert_eq!(request.budget.map(|budget| budget.0), Some(5_000_000_000));
    assert_eq!(
        request.budget_source.key.as_deref(),
        Some("exception.message")
    );
    assert_eq!(
        request.budget_source.value.as_deref(),
        Some("timeout of 5000ms exceeded")
    );
    // A span that did not fail got over what its log tells of.
    let (well, mut logged) = (span(Kind::Client, &[]), span(Kind::Client, &[]));
    logged.status.code = StatusCode::Error;
    let log = SpanLog {
        trace_id: logged.trace_id,
        span_id: logged.span_id,
        body: "AxiosError: timeout of 700ms exceeded".into(),
        ..SpanLog::default()
    };
    let request = |span: Span| {
        let trace = Trace {
            id: span.trace_id,
            spans: vec![span],
            logs: vec![log.clone()],
        };
        let analysis = analyse(&trace, &Policy::default(), &Typical::default());
        analysis.requests[0].clone()
    };
    let told = request(logged);
    assert_eq!(told.budget_source.key.as_deref(), Some("log.body"));
    assert_eq!(told.budget.map(|budget| budget.0), Some(700_000_000));
    assert_eq!(told.outcome, Outcome::Missed);
    let well = request(well);
    assert_eq!((well.budget, well.outcome), (None, Outcome::NoBudget));
}

#[test]
fn many_keys_that_look_like_budgets_are_counted_not_listed() {
    let keys: Vec<String> = (0..30).map(|n| format!("app{n:02}.deadline_ms")).collect();
    let pairs: Vec<(&str, &str)> = keys.iter().map(|key| (key.as_str(), "5")).collect();
    let request = analysed(span(Kind::Server, &pairs), Rules::builtin());
    let notes: Vec<String> = request.notes.iter().map(ToString::to_string).collect();
    assert_eq!(notes.len(), 11, "{notes:?}");
    assert!(notes[0].starts_with("app00.deadline_ms looks like a deadline and no rule reads it"));
    assert_eq!(
        notes[10],
        "20 more keys look like deadlines and are not read"
    );
}
