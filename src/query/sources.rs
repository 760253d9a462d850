//! Which keys and texts a request's budgets and failures were read from, for where there is no room
//! to say it of each.

use crate::model::{Hop, Request, Source, Text, Verdict};

/// Keys that are named; the rest is counted.
const SHOWN: usize = 4;
/// Services that are named of each.
const SERVICES: usize = 3;

/// A phrase for each key or text, in the order of the hops: `deadline.timeout_ms (client)`.
pub fn read(request: &Request) -> Vec<String> {
    let mut found: Vec<(&Text, Vec<&Text>)> = Vec::new();
    for hop in &request.hops {
        let of_calls = hop
            .calls
            .iter()
            .flat_map(|call| [&call.timeout_source, &call.remaining_out_source]);
        for source in std::iter::once(&hop.remaining_in_source).chain(of_calls) {
            note(&mut found, source, &hop.service);
        }
    }
    let left_out = found.len().saturating_sub(SHOWN);
    let shown = found.iter().take(SHOWN);
    let mut phrases: Vec<String> = shown.map(|(key, of)| phrase(key, of)).collect();
    if left_out > 0 {
        phrases.push(format!("{left_out} more"));
    }
    phrases
}

/// What the spans of hops that did not end well say of it, a phrase a hop, the one where the failure
/// surfaced first: `pricing: http.response.status_code 504`.
pub fn words(request: &Request) -> Vec<String> {
    let surfaced = request.surfaced.as_ref().map(|surfaced| surfaced.hop);
    let (first, others): (Vec<&Hop>, Vec<&Hop>) = request
        .hops
        .iter()
        .partition(|hop| Some(hop.id) == surfaced);
    let mut phrases: Vec<String> = Vec::new();
    let mut left_out = 0;
    for hop in first.into_iter().chain(others) {
        let Some(words) = evidence(hop) else { continue };
        let phrase = format!("{}: {words}", hop.service);
        if phrases.contains(&phrase) {
            continue;
        }
        if phrases.len() < SERVICES {
            phrases.push(phrase);
        } else {
            left_out += 1;
        }
    }
    if left_out > 0 {
        phrases.push(format!("{left_out} more"));
    }
    phrases
}

/// What a hop's own spans say of how it ended, if it did not end well.
pub fn evidence(hop: &Hop) -> Option<&Text> {
    hop.evidence.as_ref().filter(|_| hop.verdict != Verdict::Ok)
}

fn note<'r>(found: &mut Vec<(&'r Text, Vec<&'r Text>)>, source: &'r Source, service: &'r Text) {
    let Some(key) = &source.key else { return };
    match found.iter_mut().find(|(known, _)| *known == key) {
        Some((_, services)) if services.contains(&service) => {}
        Some((_, services)) => services.push(service),
        None => found.push((key, vec![service])),
    }
}

fn phrase(key: &Text, services: &[&Text]) -> String {
    let mut names: Vec<String> = services
        .iter()
        .take(SERVICES)
        .map(ToString::to_string)
        .collect();
    if let Some(more @ 1..) = services.len().checked_sub(SERVICES) {
        names.push(format!("{more} more"));
    }
    format!("{key} ({})", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::How;
    use crate::query::fixtures::chain;

    fn source(key: &str) -> Source {
        Source {
            key: Some(key.into()),
            ..Source::of(How::Observed)
        }
    }

    #[test]
    fn each_key_is_told_once_with_the_services_that_said_it() {
        let mut request = chain();
        for hop in &mut request.hops {
            hop.remaining_in_source = Source::default();
        }
        assert!(read(&request).is_empty());
        let names: Vec<Text> = request.hops.iter().map(|hop| hop.service.clone()).collect();
        request.hops[0].calls[0].timeout_source = source("status.message");
        for hop in 0..2 {
            request.hops[hop].remaining_in_source = source("grpc-timeout");
        }
        let expected = [
            format!("grpc-timeout ({}, {})", names[0], names[1]),
            format!("status.message ({})", names[0]),
        ];
        assert_eq!(read(&request), expected);
        for (number, call) in request
            .hops
            .iter_mut()
            .flat_map(|hop| &mut hop.calls)
            .enumerate()
        {
            call.timeout_source = source(&format!("key{number}"));
            call.remaining_out_source = source(&format!("other{number}"));
        }
        let many = read(&request);
        assert_eq!(many.len(), SHOWN + 1);
        assert!(many[SHOWN].ends_with(" more"), "{many:?}");
    }

    #[test]
    fn the_words_of_a_failure_come_from_where_it_surfaced_first() {
        let mut request = chain();
        for hop in &mut request.hops {
            hop.evidence = Some("http.response.status_code 504".into());
            hop.verdict = Verdict::ExceededHere;
        }
        request.hops[0].verdict = Verdict::Ok;
        if let Some(surfaced) = &mut request.surfaced {
            surfaced.hop = 2;
        }
        let said = |hop: usize| {
            let service = &request.hops[hop].service;
            format!("{service}: http.response.status_code 504")
        };
        let told = words(&request);
        assert_eq!(told[..2], [said(2), said(1)]);
        assert!(!told.contains(&said(0)));
        request.hops.iter_mut().for_each(|hop| hop.evidence = None);
        assert!(words(&request).is_empty());
    }
}
