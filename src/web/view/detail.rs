//! What an opened row shows.

use std::collections::HashSet;

use super::LONG;
use super::clocks::clock_words;
use super::window::{MOST_FIND, TextLink};
use super::words::{Markup, link_to, name, put, sentence, service_link};
use crate::model::{CallKind, HandedOver, Nanos, Request, SpanId};
use crate::query::detail::{CallDetail, Detail, SpanDetail, detail};
use crate::query::waterfall::Row;
use crate::report::number;
use crate::report::svg::{Badge, display_name};
use crate::store::Stored;
use crate::web::laid::Laid;
use crate::web::params::Link;
use crate::web::period::Around;

/// What a row shows of its parts; the rest is counted.
#[derive(Debug, Clone, Copy)]
struct Room {
    calls: usize,
    spans: usize,
    attributes: usize,
    value: usize,
}

/// For a row among many.
const SOME: Room = Room {
    calls: 20,
    spans: 6,
    attributes: 40,
    value: 300,
};

/// For the row that was asked for.
const ALL: Room = Room {
    calls: usize::MAX,
    spans: usize::MAX,
    attributes: usize::MAX,
    value: LONG,
};

/// An opened row, ready to print.
#[derive(Debug)]
pub(in crate::web) struct DetailView {
    pub(in crate::web) origin_title: String,
    pub(in crate::web) origin: Vec<Markup>,
    pub(in crate::web) divide_title: String,
    pub(in crate::web) divide: Vec<PartView>,
    pub(in crate::web) calls_title: String,
    pub(in crate::web) calls_label: String,
    pub(in crate::web) calls: Vec<CallView>,
    pub(in crate::web) more_calls: Option<String>,
    pub(in crate::web) handed_over: Vec<TextLink>,
    pub(in crate::web) spans: Vec<SpanView>,
    pub(in crate::web) more_spans: Option<String>,
    /// Where to look next.
    pub(in crate::web) next: Vec<TextLink>,
    /// By how much its clock was moved.
    pub(in crate::web) clock: Option<String>,
}

#[derive(Debug)]
pub(in crate::web) struct PartView {
    pub(in crate::web) name: &'static str,
    pub(in crate::web) time: String,
    pub(in crate::web) late: bool,
}

#[derive(Debug)]
pub(in crate::web) struct CallView {
    pub(in crate::web) to: String,
    pub(in crate::web) operation: String,
    pub(in crate::web) about: Option<String>,
    pub(in crate::web) sent: String,
    pub(in crate::web) timeout: String,
    pub(in crate::web) took: String,
    pub(in crate::web) badge: String,
}

#[derive(Debug)]
pub(in crate::web) struct SpanView {
    pub(in crate::web) id: String,
    /// Whether it bears its anchor; of several views of a span the first does.
    pub(in crate::web) anchor: bool,
    pub(in crate::web) href: String,
    pub(in crate::web) name: String,
    /// `server, status unset`.
    pub(in crate::web) about: String,
    pub(in crate::web) attributes: Vec<AttributeView>,
    pub(in crate::web) more: Option<String>,
}

#[derive(Debug)]
pub(in crate::web) struct AttributeView {
    pub(in crate::web) key: String,
    pub(in crate::web) value: String,
    /// A budget was read from it.
    pub(in crate::web) used: bool,
    /// The rows of the request that have it, too.
    pub(in crate::web) href: Option<String>,
}

impl DetailView {
    /// The opened part of a row; with `whole` all that there is, otherwise what fits among many.
    pub(in crate::web) fn new(
        laid: &Laid,
        row: &Row,
        index: usize,
        whole: bool,
        anchors: &mut HashSet<SpanId>,
    ) -> Self {
        let room = if whole { ALL } else { SOME };
        let (stored, request) = (&laid.stored, laid.request());
        let detail = detail(request, &stored.trace, row);
        let owner = format!("{} {}", name(&row.name), name(&row.operation));
        let path = link_to(request.trace_id, request.request);
        // A call that has a row of its own has its span there.
        let elsewhere: HashSet<SpanId> = match row.call {
            Some(_) => HashSet::new(),
            None => calls_with_rows(request, row).collect(),
        };
        let mut anchored = |id: SpanId| {
            (detail.spans.first().is_some_and(|entry| entry.id == id) || !elsewhere.contains(&id))
                && anchors.insert(id)
        };
        Self {
            origin_title: match detail.left {
                Some(left) => format!("Where {} comes from", number::ms_unit(left)),
                None => "Where the budget comes from".to_owned(),
            },
            origin: detail.origin.iter().map(sentence).collect(),
            divide_title: format!("How its {} divide", number::ms_unit(detail.elapsed)),
            divide: divide(&detail),
            calls_title: format!(
                "Calls, {}",
                number::count(detail.calls.len() + detail.calls_left_out)
            ),
            // Regions are told apart by name.
            calls_label: format!("Calls of {owner}, row {}", number::count(index + 1)),
            calls: detail.calls.iter().take(room.calls).map(call).collect(),
            more_calls: more(
                detail.calls.len().saturating_sub(room.calls) + detail.calls_left_out,
                ("call is", "calls are"),
            ),
            handed_over: detail
                .handed_over
                .iter()
                .take(room.calls)
                .map(|other| handed_over(stored, other))
                .collect(),
            spans: detail
                .spans
                .iter()
                .take(room.spans)
                .map(|one| span(one, room, &path, anchored(one.id)))
                .collect(),
            more_spans: more(
                detail.spans.len().saturating_sub(room.spans) + detail.spans_left_out,
                ("span is", "spans are"),
            ),
            next: match row.call {
                None => vec![TextLink {
                    href: service_link(&Around::of(request.start), &row.name, &row.operation),
                    text: format!("{owner} over time"),
                }],
                Some(_) => Vec::new(),
            },
            clock: request
                .hops
                .get(row.hop)
                .filter(|hop| hop.clock_offset != Nanos::ZERO)
                .map(|hop| clock_words(hop.clock_offset, hop.clock_interval)),
        }
    }

    /// About how much it adds to a page.
    pub(in crate::web) fn bytes(&self) -> usize {
        /// Markup around the text of a table row.
        const FRAME: usize = 80;
        let origin: usize = self.origin.iter().map(|line| line.0.len() + FRAME).sum();
        let calls: usize = self
            .calls
            .iter()
            .map(|call| call.to.len() + call.operation.len() + call.badge.len() + 2 * FRAME)
            .sum();
        let attributes = |span: &SpanView| -> usize {
            span.attributes
                .iter()
                .map(|one| one.key.len() + one.value.len() + FRAME)
                .sum()
        };
        let spans: usize = self
            .spans
            .iter()
            .map(|span| attributes(span) + 2 * FRAME)
            .sum();
        let next: usize = self.next.iter().map(|link| link.href.len() + FRAME).sum();
        origin + calls + spans + next + self.divide.len() * FRAME + 4 * FRAME
    }
}

/// The spans of a hop's calls that have a row of their own.
fn calls_with_rows<'a>(request: &'a Request, row: &Row) -> impl Iterator<Item = SpanId> + use<'a> {
    let hop = request.hops.get(row.hop);
    let calls = hop.map_or(&[][..], |hop| hop.calls.as_slice()).iter();
    calls
        .filter(|call| call.hop.is_none())
        .map(|call| call.span_id)
}

/// A request that goes its own way, by its name if it is of this trace.
fn handed_over(stored: &Stored, other: &HandedOver) -> TextLink {
    let mut known = stored.analysis.requests.iter();
    let known = known.find(|one| one.request == other.request && one.trace_id == other.trace_id);
    TextLink {
        href: link_to(other.trace_id, other.request),
        text: match known {
            Some(request) => name(&format!("{} {}", request.service, request.operation)),
            None => format!("{} in trace {}", other.request, other.trace_id),
        },
    }
}

/// The rows of the request that have an attribute, if it can be asked for.
fn find_link(path: &str, key: &str, value: &str) -> Option<String> {
    let find = format!("{key}={value}");
    (find.chars().count() <= MOST_FIND).then(|| {
        Link {
            path,
            pairs: &[("find", Some(&find))],
        }
        .to_string()
    })
}

fn more(count: usize, (one, many): (&str, &str)) -> Option<String> {
    let noun = if count == 1 { one } else { many };
    (count > 0).then(|| {
        format!(
            "{} more {noun} not shown here; the JSON and the trace have them.",
            number::count(count)
        )
    })
}

fn divide(detail: &Detail) -> Vec<PartView> {
    let shares = detail.shares.iter().map(|share| PartView {
        name: share.label,
        time: number::ms_unit(share.time),
        late: share.late,
    });
    let typical = detail.typical.map(|typical| PartView {
        name: "typical, of good runs",
        time: number::ms_unit(typical),
        late: false,
    });
    shares.chain(typical).collect()
}

fn call(call: &CallDetail) -> CallView {
    let mut about = Vec::new();
    if let Some((nth, of)) = call.attempt {
        about.push(format!("attempt {nth}/{of}"));
    }
    match call.kind {
        CallKind::Unreported => about.push("no spans".to_owned()),
        CallKind::Producer => about.push("message".to_owned()),
        CallKind::Hop | CallKind::Dependency => {}
    }
    if !call.waited {
        about.push("not waited for".to_owned());
    }
    CallView {
        to: name(&call.to),
        operation: name(&call.operation),
        about: (!about.is_empty()).then(|| about.join(", ")),
        sent: number::ms_or_unknown(call.sent),
        timeout: number::ms_or_unknown(call.timeout),
        took: number::ms(call.took),
        badge: Badge::Verdict(call.verdict).to_string(),
    }
}

fn span(span: &SpanDetail, room: Room, path: &str, anchor: bool) -> SpanView {
    let mut about = format!("{}, status {}", span.kind, span.status);
    if !span.message.is_empty() {
        put(
            &mut about,
            format_args!(": {}", display_name(&span.message, room.value)),
        );
    }
    let mut attributes: Vec<AttributeView> = Vec::new();
    // What a budget was read from is never among those that are left out.
    let (used, rest): (Vec<_>, Vec<_>) = span.attributes.iter().partition(|one| one.budget);
    for one in used.into_iter().chain(rest).take(room.attributes) {
        attributes.push(AttributeView {
            key: name(&one.key),
            value: display_name(&one.value, room.value),
            used: one.budget,
            // Not on every row of many: the addresses would be most of the page.
            href: (one.budget || room.spans == usize::MAX)
                .then(|| find_link(path, &one.key, &one.value))
                .flatten(),
        });
    }
    let left_out = span.attributes.len().saturating_sub(room.attributes) + span.attributes_left_out;
    for (at, event) in span.events.iter().take(room.attributes) {
        attributes.push(AttributeView {
            key: format!("event at {}", number::ms_unit(*at)),
            value: name(event),
            used: false,
            href: None,
        });
    }
    SpanView {
        href: format!("{path}?span={}#span-{}", span.id, span.id),
        anchor,
        id: span.id.to_string(),
        name: name(&span.name),
        about,
        attributes,
        more: more(left_out, ("attribute is", "attributes are")),
    }
}
