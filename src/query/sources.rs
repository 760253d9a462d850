//! Which keys and texts a request's budgets were read from, for where there is no room to say it of
//! each.

use crate::model::{Request, Source, Text};

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
}
