//! Worked examples: small traces written by hand, and what the semantics say must come out. Each
//! expectation was derived from the text, not from a run.

mod budgets;
mod failures;
mod findings;
mod hops;
pub(crate) mod notation;
mod paths;
mod sources;

use std::fmt::Write as _;

use dwindle::budget::{Policy, Typical, analyse};
use dwindle::model::{Finding, Nanos, Reason, Request};

/// Analyses spans in the notation; every line of `has` must come out, and none that begins with
/// one of `lacks`.
pub(crate) fn check(spans: &str, has: &str, lacks: &[&str]) {
    let analysis = analyse(
        &notation::trace(spans),
        &Policy::default(),
        &Typical::default(),
    );
    let mut facts = vec![format!("requests {}", analysis.requests.len())];
    analysis.requests.iter().for_each(|r| tell(r, &mut facts));
    let mut faults = String::new();
    for line in has.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if !facts.iter().any(|fact| fact == line) {
            writeln!(faults, "missing: {line}").unwrap();
        }
    }
    for line in facts
        .iter()
        .filter(|fact| lacks.iter().any(|lack| fact.starts_with(lack)))
    {
        writeln!(faults, "unwanted: {line}").unwrap();
    }
    assert!(
        faults.is_empty(),
        "\n{faults}of:\n  {}\n",
        facts.join("\n  ")
    );
}

/// What a request says, a line for each fact.
fn tell(request: &Request, facts: &mut Vec<String>) {
    let name = &request.service;
    let ms = |time: Nanos| (time.0 as f64 / 1e6).to_string();
    let maybe = |time: Option<Nanos>| time.map_or_else(|| "none".to_owned(), ms);
    let mut fact = |line: String| facts.push(line);
    fact(format!(
        "{name}: {} of {}",
        request.outcome.as_str(),
        maybe(request.budget)
    ));
    fact(format!("{name}: wasted {}", ms(request.wasted)));
    fact(format!("{name}: complete {}", request.complete));
    fact(format!("{name}: spans {}", request.spans));
    request
        .notes
        .iter()
        .for_each(|note| fact(format!("{name}: {note}")));
    fact(match &request.culprit {
        Some(c) => {
            let to = c.to.as_ref().map_or(String::new(), |to| format!(" > {to}"));
            format!(
                "{name}: culprit {} {}{to} {}",
                c.service,
                c.part.as_str(),
                ms(c.consumed)
            )
        }
        None => format!("{name}: culprit none"),
    });
    if let Some(surfaced) = &request.surfaced {
        fact(format!("{name}: surfaced at {}", surfaced.service));
    }
    for hop in &request.hops {
        let service = &hop.service;
        let how = hop.remaining_in_source.how.as_str();
        fact(format!("{service} in {} {how}", maybe(hop.remaining_in)));
        let source = &hop.remaining_in_source;
        if let (Some(key), Some(value)) = (&source.key, &source.value) {
            fact(format!("{service} by {key}: {value}"));
        }
        let from = hop.deadline_from.map(|id| request.hops[id].service.clone());
        fact(format!(
            "{service} deadline {} by {}",
            maybe(hop.deadline),
            from.unwrap_or_default()
        ));
        fact(format!("{service} {}", hop.verdict.as_str()));
        let reason = hop.reason.map_or("nothing", Reason::as_str);
        fact(format!("{service} because {reason}"));
        let evidence = hop.evidence.as_deref().unwrap_or("nothing");
        fact(format!("{service} says {evidence}"));
        fact(format!("{service} local {}", ms(hop.local)));
        fact(format!("{service} wasted {}", ms(hop.wasted)));
        fact(format!("{service} shifted {}", ms(hop.clock_offset)));
        fact(format!("{service} handed over {}", hop.handed_over.len()));
        for call in &hop.calls {
            let label = format!("{service} > {} {}/{}", call.to, call.attempt, call.attempts);
            let kind = format!("{:?}", call.kind).to_lowercase();
            fact(format!("{label} {kind} {}", call.verdict.as_str()));
            fact(format!("{label} out {}", maybe(call.remaining_out)));
            fact(format!("{label} timeout {}", maybe(call.timeout)));
            fact(format!("{label} waited {}", call.waited));
        }
    }
    for row in &request.ledger {
        let to = row
            .to
            .as_ref()
            .map_or(String::new(), |to| format!(" > {to}"));
        fact(format!(
            "row {} {}{to} {}",
            row.service,
            row.part.as_str(),
            ms(row.time)
        ));
    }
    let sum: Nanos = request.ledger.iter().map(|row| row.time).sum();
    assert_eq!(sum, request.elapsed, "the ledger of {name} does not sum up");
    request
        .findings
        .iter()
        .for_each(|finding| fact(of_finding(finding)));
}

fn of_finding(finding: &Finding) -> String {
    let to = finding
        .to
        .as_ref()
        .map_or(String::new(), |to| format!(" > {to}"));
    let evidence = serde_json::to_string(&finding.evidence).unwrap();
    let plain = evidence.replace(['{', '}', '"'], "").replace(',', " ");
    format!("! {} {}{to} {plain}", finding.rule, finding.service)
}
