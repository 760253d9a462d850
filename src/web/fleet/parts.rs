//! What several of these pages show.

use crate::model::{CallKind, Nanos, Part, Rule, Severity, Text, UnixNanos};
use crate::query::fleet::findings::Group;
use crate::query::fleet::{Example, Share, Stretch, Thousandths};
use crate::query::{filter, ledger};
use crate::report::number;
use crate::report::svg::{Escaped, Icon, Spark, display_name};
use crate::web::error::Problem;
use crate::web::params::Link;
use crate::web::period::{Period, short};
use crate::web::view::{LONG, SHORT, link_to, name};

/// Filters longer than this are no links: they would not fit into an address.
const LONGEST_FILTER: usize = 4000;

/// When a bucket of a table is; `partial` if it is cut by the end of the stretch, or by now.
pub(super) fn when(since: UnixNanos, until: UnixNanos, partial: bool, window: Stretch) -> String {
    let part = number::part(since, until, window.is_long());
    format!("{part}{}", not_over(partial))
}

/// What stands behind the counts of a bucket that is cut.
pub(super) fn not_over(partial: bool) -> &'static str {
    if partial { ", not over yet" } else { "" }
}

/// What to say where there is nothing to show.
#[derive(Debug, Default)]
pub(super) struct Nothing {
    pub(super) what: String,
    pub(super) hint: String,
    pub(super) links: Vec<(String, String)>,
    /// Nothing ever came.
    pub(super) first_time: bool,
    /// When the last request of any service began.
    pub(super) newest: Option<UnixNanos>,
    pub(super) http_addr: String,
    pub(super) grpc_addr: String,
}

impl Nothing {
    /// Of a stretch without a request.
    pub(super) fn of(
        state: &crate::web::State,
        period: &Period,
        path: &str,
    ) -> Result<Self, Problem> {
        let help = (
            "/help#exporter".to_owned(),
            "Point an exporter here".to_owned(),
        );
        let nothing = Self {
            http_addr: state.http_addr.clone(),
            grpc_addr: state.grpc_addr.clone(),
            ..Self::default()
        };
        let Some(newest) = super::newest(state)? else {
            return Ok(Self {
                what: "No requests yet.".to_owned(),
                hint: "No span has come since this server started.".to_owned(),
                links: vec![(
                    "/help".to_owned(),
                    "How to read what will be here".to_owned(),
                )],
                first_time: true,
                ..nothing
            });
        };
        let stretch = period.stretch();
        let around = around(newest, stretch);
        let (since, until) = (short(around.since), short(around.until));
        let link = Link {
            path,
            pairs: &[("since", Some(&since)), ("until", Some(&until))],
        };
        Ok(Self {
            newest: Some(newest),
            what: format!(
                "No requests from {}.",
                number::stretch(stretch.since, stretch.until)
            ),
            hint: format!("The last one began at {}.", number::instant(newest)),
            links: vec![
                (
                    link.to_string(),
                    format!("Show {}", number::stretch(around.since, around.until)),
                ),
                help,
            ],
            ..nothing
        })
    }
}

/// A stretch of the same length that ends with the minute of an instant.
fn around(newest: UnixNanos, like: Stretch) -> Stretch {
    let minute = Nanos::from_secs(60);
    let within = Nanos(i64::try_from(newest.0 % minute.0.unsigned_abs()).unwrap_or(0));
    let until = newest.shifted(minute - within);
    Stretch {
        since: until.shifted(-like.length()),
        until,
    }
}

/// A number of a row of facts.
#[derive(Debug)]
pub(super) struct Fact {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) more: String,
    pub(super) late: bool,
}

impl Fact {
    pub(super) fn new(name: &str, value: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            value: value.into(),
            more: String::new(),
            late: false,
        }
    }

    pub(super) fn more(mut self, more: impl Into<String>) -> Self {
        self.more = more.into();
        self
    }

    pub(super) fn late(mut self, late: bool) -> Self {
        self.late = late;
        self
    }
}

/// The page of a service, or of one of its operations.
pub(super) fn service_link(period: &Period, service: &str, operation: Option<&str>) -> String {
    let mut path = format!("/services/{}", segment(service));
    if let Some(operation) = operation.filter(|operation| !operation.is_empty()) {
        path.push('/');
        path.push_str(&segment(operation));
    }
    period.link(&path, &[])
}

/// A name as one segment of a path.
pub(super) fn segment(name: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_~.".contains(&byte) {
            out.push(char::from(byte));
        } else {
            write!(out, "%{byte:02X}").unwrap_or_default();
        }
    }
    // A segment of one or two dots, escaped or not, is a step in the path for browsers.
    if is_dots(name) {
        out.push_str("%2F");
    }
    out
}

/// The name that a segment of a path is.
pub(super) fn unsegmented(segment: String) -> String {
    match segment.strip_suffix('/') {
        Some(dots) if is_dots(dots) => dots.to_owned(),
        _ => segment,
    }
}

fn is_dots(name: &str) -> bool {
    matches!(name, "." | "..")
}

/// The request of an example.
pub(super) fn example(example: &Example) -> String {
    link_to(example.trace_id, example.request)
}

/// Who held the clock: its name, and the word for what the time went on where the name does not
/// say it.
pub(super) fn who(
    service: &Text,
    operation: &Text,
    part: Part,
    to: Option<&Text>,
) -> (String, &'static str) {
    let word = match part {
        Part::Local | Part::Dependency => "",
        Part::TransitOut | Part::TransitBack => "transit",
        Part::Unreported => "unreported",
        Part::Backoff => "backoff",
    };
    (
        name(&ledger::name(service, operation, part, to, true)),
        word,
    )
}

/// The condition that a culprit's service, part and callee are these.
pub(super) fn culprit_filter(service: &str, part: Part, to: Option<&Text>) -> String {
    let service = filter::is("culprit.service", service);
    let part = filter::is("culprit.part", part.as_str());
    match to {
        Some(to) => format!("{service} and {part} and {}", filter::is("culprit.to", to)),
        None => format!("{service} and {part}"),
    }
}

/// The condition that there is a finding of this rule, service and callee.
pub(super) fn finding_filter(rule: Rule, service: &str, to: Option<&Text>) -> String {
    let rule = filter::is("rule", rule.as_str());
    let service = filter::is("service", service);
    let to = to.map_or_else(|| "to=null".to_owned(), |to| filter::is("to", to));
    format!("finding({rule} and {service} and {to})")
}

/// The condition that a row of the ledger is this one's.
pub(super) fn ledger_filter(
    service: &str,
    operation: &str,
    part: Part,
    to: Option<&Text>,
) -> String {
    let service = filter::is("service", service);
    let operation = filter::is("operation", operation);
    let to = to.map_or_else(String::new, |to| format!(" and {}", filter::is("to", to)));
    format!(
        "ledger({service} and {operation} and part={part}{to})",
        part = part.as_str()
    )
}

/// A link to the requests of a filter, unless no address could hold it.
pub(super) fn requests(
    period: &Period,
    filter: &str,
    more: &[(&str, Option<&str>)],
) -> Option<String> {
    (filter.len() <= LONGEST_FILTER).then(|| period.requests(filter, more))
}

/// `1 other`, `12 others`.
pub(super) fn other_ones(count: u64) -> String {
    let word = if count == 1 { "other" } else { "others" };
    format!("{} {word}", number::sum(count))
}

/// A number as a link where there is one.
pub(super) fn linked(text: &str, href: Option<&str>) -> String {
    match href {
        Some(href) => format!(r#"<a href="{}">{}</a>"#, Escaped(href), Escaped(text)),
        None => Escaped(text).to_string(),
    }
}

/// A name as a link that looks like text.
pub(super) fn named(label: &str, href: &str) -> String {
    format!(
        r#"<a class="nl" href="{}" title="{text}"><bdi>{text}</bdi></a>"#,
        Escaped(href),
        text = Escaped(label)
    )
}

/// How much more or less than before, as markup.
pub(super) fn trend(trend: Option<Thousandths>) -> String {
    match trend {
        None => r#"<span class="up">new</span>"#.to_owned(),
        Some(trend) if trend.0 >= 2000 => {
            let words = number::trend(trend.0);
            format!(r#"<span class="up">{} {words}</span>"#, Icon::Rise)
        }
        Some(trend) => format!(r#"<span class="qq">{}</span>"#, number::trend(trend.0)),
    }
}

/// How many times typical, with one decimal below ten.
pub(super) fn times(times: Thousandths) -> String {
    number::times(u64::try_from(times.0 / 100).unwrap_or(0))
}

/// A share with one decimal.
pub(super) fn percent(share: Share) -> String {
    number::share(share.part, share.whole, 1)
}

/// A percentile in milliseconds, or that it is not known.
pub(super) fn ms(time: Option<Nanos>) -> String {
    number::ms_or_unknown(time)
}

/// Seconds; nothing is `·`.
pub(super) fn seconds(time: Nanos) -> String {
    if time == Nanos::ZERO {
        number::UNKNOWN.to_owned()
    } else {
        number::seconds(time)
    }
}

/// What a list left out, in words.
pub(super) fn others(count: u64, one: &str, many: &str) -> Option<String> {
    let number = usize::try_from(count).unwrap_or(usize::MAX);
    (count > 0).then(|| format!("{} more not shown.", number::counted(number, one, many)))
}

/// "minute", "6 minutes", "hour": how long a bucket is.
pub(super) fn step_words(step: Nanos) -> String {
    let seconds = step.0 / Nanos::from_secs(1).0;
    let (unit, word) = match seconds {
        seconds if seconds % 86_400 == 0 => (86_400, "day"),
        seconds if seconds % 3_600 == 0 => (3_600, "hour"),
        seconds if seconds % 60 == 0 => (60, "minute"),
        _ => (1, "second"),
    };
    match seconds / unit {
        1 => word.to_owned(),
        count => format!("{count}\u{a0}{word}s"),
    }
}

/// The first instant after a bucket.
pub(super) fn end(since: UnixNanos, step: Nanos, window: Stretch) -> UnixNanos {
    since.shifted(step).min(window.until)
}

/// Findings of one rule at one edge, over many requests.
#[derive(Debug)]
pub(super) struct GroupView {
    pub(super) key: String,
    pub(super) icon: String,
    pub(super) icon_class: &'static str,
    pub(super) severity: &'static str,
    pub(super) rule: &'static str,
    pub(super) edge: String,
    pub(super) owner: String,
    pub(super) owner_href: String,
    pub(super) evidence: String,
    pub(super) hint: String,
    /// "7,204 cases in 7,100 requests", as a link.
    pub(super) count: String,
    /// The same of the stretch before.
    pub(super) before: String,
    pub(super) since: String,
    pub(super) worst: String,
    pub(super) worst_when: String,
    pub(super) newest: String,
    pub(super) newest_when: String,
    pub(super) trend: String,
    /// The rule's own page part.
    pub(super) all: String,
}

impl GroupView {
    pub(super) fn new(group: &Group, period: &Period) -> Self {
        let service = name(&group.service);
        let edge = match &group.to {
            Some(to) => format!("{service} \u{2192} {}", name(to)),
            None => service.clone(),
        };
        let count = |number: u64, one, many| {
            number::counted(usize::try_from(number).unwrap_or(usize::MAX), one, many)
        };
        let filter = finding_filter(group.rule, &group.service, group.to.as_ref());
        let found = requests(period, &filter, &[]);
        let requests = linked(
            &count(group.requests, "request", "requests"),
            found.as_deref(),
        );
        let since = number::instant(group.since);
        let since = since.get(..16).unwrap_or(&since);
        let trend: Vec<Option<u64>> = group.trend.iter().copied().map(Some).collect();
        let nbsp = |text: &str| display_name(text, LONG).replace(" ms", "\u{a0}ms");
        Self {
            key: format!("{}-{}-{}", group.rule, service, edge),
            icon: Icon::Severity(group.severity).to_string(),
            icon_class: match group.severity {
                Severity::Error => "ic",
                Severity::Warning => "ic w",
                Severity::Info => "ic n",
            },
            severity: group.severity.as_str(),
            rule: group.rule.as_str(),
            edge,
            owner_href: service_link(period, &group.service, None),
            owner: service,
            evidence: nbsp(&group.message),
            hint: nbsp(&group.hint),
            count: format!("{} in {requests}", count(group.count, "case", "cases")),
            before: number::sum(group.count_before),
            since: if group.since_or_before {
                format!("{since} UTC or before")
            } else {
                format!("{since} UTC")
            },
            worst: example(&group.worst),
            worst_when: number::instant(group.worst.start),
            newest: example(&group.newest),
            newest_when: number::instant(group.newest.start),
            trend: Spark {
                values: &trend,
                late: group.severity == Severity::Error,
                in_row: true,
                top: None,
            }
            .to_string(),
            all: period.link("/findings", &[("rule", Some(group.rule.as_str()))]),
        }
    }
}

/// What the far side of a call is, where its name does not say it.
pub(super) fn kind_word(kind: CallKind) -> &'static str {
    match kind {
        CallKind::Hop | CallKind::Dependency => "",
        CallKind::Unreported => "leaves no spans",
        CallKind::Producer => "queue",
    }
}

/// A name cut for a label.
pub(super) fn short_name(text: &str) -> String {
    display_name(text, SHORT / 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_one_segment_and_buckets_have_words() {
        assert_eq!(segment("shop/POST /a?b"), "shop%2FPOST%20%2Fa%3Fb");
        assert_eq!(segment("\u{20ac}"), "%E2%82%AC");
        assert_eq!(segment(".."), "..%2F");
        assert_eq!(unsegmented("../".to_owned()), "..");
        assert_eq!(unsegmented("a/".to_owned()), "a/");
        let words = |seconds| step_words(Nanos::from_secs(seconds)).replace('\u{a0}', " ");
        assert_eq!(
            (words(60), words(360)),
            ("minute".into(), "6 minutes".into())
        );
        assert_eq!(
            (words(3600), words(10)),
            ("hour".into(), "10 seconds".into())
        );
    }

    #[test]
    fn filters_of_culprits_read_back_as_they_were_meant() {
        let text = culprit_filter("a \"b", Part::Dependency, Some(&"postgresql stock".into()));
        assert_eq!(
            text,
            r#"culprit.service="a \"b" and culprit.part=dependency and culprit.to="postgresql stock""#
        );
        let filter = filter::Filter::parse(&text).unwrap();
        assert_eq!(filter.to_string(), text);
    }
}
