//! Which rows a text is found in: over the whole request, whatever of it is shown.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::{Row, Waterfall};
use crate::model::{Attributes, Request, Resource, Span, SpanId, Trace, Value};

/// The rows, in order, of which the name, the operation, the verdict or a span says `wanted`:
/// a span by its id, name, status text, attributes (`key`, `value` or `key=value`) and events,
/// those of its resource included. Case counts for nothing; an empty text is found nowhere.
pub fn find(request: &Request, trace: &Trace, waterfall: &Waterfall, wanted: &str) -> Vec<usize> {
    let wanted = wanted.trim().to_lowercase();
    if wanted.is_empty() {
        return Vec::new();
    }
    let mut search = Search {
        pair: wanted.contains('='),
        wanted,
        resources: HashMap::new(),
    };
    // A call with a row of its own has its span to itself.
    let calls = waterfall.rows.iter().filter(|row| row.call.is_some());
    let own: HashSet<SpanId> = calls.filter_map(|row| row.key(request)).collect();
    let spans: HashMap<SpanId, &Span> = trace
        .spans
        .iter()
        .filter(|span| own.contains(&span.span_id))
        .map(|span| (span.span_id, span))
        .collect();
    let rows = waterfall.rows.iter().enumerate();
    rows.filter(|(_, row)| {
        search.in_text(&row.name)
            || search.in_text(&row.operation)
            || search.in_text(&row.verdict.words())
            || match row.call {
                Some(_) => row
                    .key(request)
                    .and_then(|key| spans.get(&key))
                    .is_some_and(|span| search.in_span(span)),
                None => hop_spans(request, trace, row)
                    .filter(|(index, span)| *index == 0 || !own.contains(&span.span_id))
                    .any(|(_, span)| search.in_span(span)),
            }
    })
    .map(|(index, _)| index)
    .collect()
}

/// The spans of a hop's row, the entry first.
fn hop_spans<'a>(
    request: &'a Request,
    trace: &'a Trace,
    row: &Row,
) -> impl Iterator<Item = (usize, &'a Span)> {
    let hop = request.hops.get(row.hop);
    let spans = hop.map_or(&[][..], |hop| hop.spans.as_slice());
    let spans = spans
        .iter()
        .filter_map(|&index| trace.spans.get(index as usize));
    spans.enumerate()
}

/// The row that shows a span: a call's own, else that of the hop that it is of.
pub fn row_of_span(
    request: &Request,
    trace: &Trace,
    waterfall: &Waterfall,
    span: SpanId,
) -> Option<usize> {
    let rows = || waterfall.rows.iter();
    let entered = rows().position(|row| row.call.is_none() && row.key(request) == Some(span));
    entered
        .or_else(|| rows().position(|row| row.key(request) == Some(span)))
        .or_else(|| {
            rows().position(|row| {
                row.call.is_none()
                    && hop_spans(request, trace, row).any(|(_, one)| one.span_id == span)
            })
        })
}

struct Search {
    /// In lower case.
    wanted: String,
    /// Whether a key and its value can match together.
    pair: bool,
    /// Spans share resources: each is looked through once.
    resources: HashMap<*const Resource, bool>,
}

impl Search {
    fn in_text(&self, text: &str) -> bool {
        let (text, wanted) = (text.as_bytes(), self.wanted.as_bytes());
        if self.wanted.is_ascii() {
            return text.len() >= wanted.len()
                && text
                    .windows(wanted.len())
                    .any(|window| window.eq_ignore_ascii_case(wanted));
        }
        String::from_utf8_lossy(text)
            .to_lowercase()
            .contains(&self.wanted)
    }

    fn in_attributes(&self, attributes: &Attributes) -> bool {
        attributes.iter().any(|(key, value)| {
            let value = match value {
                Value::Str(text) => Cow::Borrowed(text.as_str()),
                other => Cow::Owned(other.to_string()),
            };
            self.in_text(key)
                || self.in_text(&value)
                || (self.pair && self.in_text(&format!("{key}={value}")))
        })
    }

    fn in_span(&mut self, span: &Span) -> bool {
        let resource = Arc::as_ptr(&span.resource);
        let known = self.resources.get(&resource).copied();
        let in_resource = known.unwrap_or_else(|| self.in_attributes(&span.resource.attributes));
        self.resources.insert(resource, in_resource);
        in_resource
            || self.in_text(&span.name)
            || self.in_text(&span.span_id.to_string())
            || self.in_text(&span.status.message)
            || self.in_attributes(&span.attributes)
            || span
                .events
                .iter()
                .any(|event| self.in_text(&event.name) || self.in_attributes(&event.attributes))
    }
}
