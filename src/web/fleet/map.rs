//! The map of services.

use std::collections::BTreeMap;

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::response::Response;

use super::parts::{
    Nothing, kind_word, linked, ms, named, others, percent, requests, seconds, service_link,
    short_name,
};
use super::{answer, period};
use crate::model::{CallKind, Nanos};
use crate::query::fleet::map::{Map, Node};
use crate::query::fleet::services::Edge;
use crate::query::{filter, fleet};
use crate::report::number;
use crate::report::svg::{Escaped, MapDrawing, MapEdge, MapNode, Percent};
use crate::web::asking::Site;
use crate::web::error::Problem;
use crate::web::params::Params;
use crate::web::period::Period;
use crate::web::view::{Chrome, Markup, name, sentence};

/// Services on the map.
const NODES: usize = 60;
/// Edges that are drawn; the table has all.
const EDGES: usize = 150;

#[derive(Template)]
#[template(path = "map.html")]
struct MapPage {
    chrome: Chrome,
    samples: bool,
    nothing: Option<Nothing>,
    view: Option<MapView>,
}

struct MapView {
    sentence: Markup,
    about: String,
    drawing: String,
    cut: Option<String>,
    nodes: Vec<NodeRow>,
    edges: Vec<EdgeRow>,
}

struct NodeRow {
    name: String,
    word: &'static str,
    depth: String,
    runs: String,
    missed: String,
    is_missed: bool,
    culprit: String,
    held: String,
    share: String,
}

struct EdgeRow {
    from: String,
    to: String,
    word: &'static str,
    calls: String,
    sent: String,
    left: String,
    passed: String,
    breaks: bool,
    missed: String,
    is_missed: bool,
    culprit: String,
    held: String,
}

/// `GET /map`.
pub(in crate::web) async fn page(State(site): State<Site>, RawQuery(query): RawQuery) -> Response {
    answer(&site, "map", query.as_deref(), build).await
}

fn build(state: &crate::web::State, params: &Params) -> Result<MapPage, Problem> {
    let period = period(state, params)?;
    let map = fleet::map(&state.store.snapshot(), &period.ask(1, NODES))?;
    let nothing = if map.nodes.is_empty() {
        Some(Nothing::of(state, &period, "/map")?)
    } else {
        None
    };
    Ok(MapPage {
        chrome: Chrome::over("map", &period, "/map", &[]).without(&state.store.snapshot()),
        samples: map.samples,
        view: nothing.is_none().then(|| MapView::new(&map, &period)),
        nothing,
    })
}

#[cfg(test)]
pub(super) fn map_page(map: &Map, period: &Period) -> impl Template {
    MapPage {
        chrome: Chrome::over("map", period, "/map", &[]),
        samples: map.samples,
        view: Some(MapView::new(map, period)),
        nothing: None,
    }
}

impl MapView {
    fn new(map: &Map, period: &Period) -> Self {
        let number_of: BTreeMap<&str, usize> = map
            .nodes
            .iter()
            .enumerate()
            .map(|(index, node)| (node.name.as_str(), index))
            .collect();
        let most_held = map.nodes.iter().map(|node| node.held).max();
        let most_held = most_held.unwrap_or_default();
        let nodes: Vec<MapNode> = map
            .nodes
            .iter()
            .map(|node| drawn_node(node, map, most_held, period))
            .collect();
        let busiest = map.edges.iter().map(|edge| edge.calls).max().unwrap_or(0);
        let drawn: Vec<MapEdge> = map
            .edges
            .iter()
            .filter_map(|edge| {
                let from = *number_of.get(edge.service.as_str())?;
                let to = *number_of.get(edge.to.as_str())?;
                Some(drawn_edge(edge, from, to, busiest))
            })
            .take(EDGES)
            .collect();
        let label = format!(
            "Map of {} and {} between them, callers left of callees; a table is below.",
            number::counted(nodes.len(), "node", "nodes"),
            number::counted(drawn.len(), "edge", "edges")
        );
        let undrawn = (map.edges.len() - drawn.len()) as u64 + map.other_edges;
        Self {
            sentence: sentence(&map.sentence),
            about: format!(
                "{}, {}; width is traffic",
                number::counted(nodes.len(), "node", "nodes"),
                number::counted(drawn.len(), "edge", "edges")
            ),
            drawing: MapDrawing {
                label: &label,
                nodes: &nodes,
                edges: &drawn,
            }
            .to_string(),
            cut: cut(map.other_nodes, undrawn),
            nodes: map
                .nodes
                .iter()
                .map(|node| NodeRow::new(node, map, period))
                .collect(),
            edges: map
                .edges
                .iter()
                .map(|edge| EdgeRow::new(edge, period))
                .collect(),
        }
    }
}

/// What is not drawn.
fn cut(nodes: u64, edges: u64) -> Option<String> {
    match (
        others(nodes, "node with less traffic", "nodes with less traffic"),
        others(edges, "edge", "edges"),
    ) {
        (None, None) => None,
        (Some(nodes), Some(edges)) => Some(format!("{nodes} {edges}")),
        (Some(one), None) | (None, Some(one)) => Some(one),
    }
}

fn drawn_node(node: &Node, map: &Map, most_held: Nanos, period: &Period) -> MapNode {
    let leaves_spans = node.kind == CallKind::Hop;
    let has_budget = node.numbers.as_ref().is_some_and(|one| one.budgeted > 0);
    let second = match (leaves_spans, has_budget || node.missed.part > 0) {
        (true, false) => "no budget known".to_owned(),
        (true, true) => format!("{} missed", percent(node.missed)),
        (false, _) => match kind_word(node.kind) {
            "" => "dependency".to_owned(),
            word => word.to_owned(),
        },
    };
    let taken = Percent::of(node.held.0.unsigned_abs(), map.held.0.unsigned_abs().max(1));
    MapNode {
        name: short_name(&node.name),
        second,
        late: node.missed.part > 0,
        dependency: !leaves_spans,
        culprit: node.held > Nanos::ZERO && node.held == most_held,
        taken: if node.held > Nanos::ZERO {
            taken
        } else {
            Percent::ZERO
        },
        href: if leaves_spans {
            service_link(period, &node.name, None)
        } else {
            let filter = filter::is("call.to", &node.name);
            requests(period, &filter, &[]).unwrap_or_else(|| period.link("/requests", &[]))
        },
    }
}

fn drawn_edge(edge: &Edge, from: usize, to: usize, busiest: u64) -> MapEdge {
    let label = match (edge.sent.p50, edge.remaining.p50) {
        (Some(sent), Some(left)) => {
            format!("{} \u{2192} {}", number::ms(sent), number::ms(left))
        }
        (Some(sent), None) => number::ms(sent),
        (None, Some(left)) => format!("\u{b7} \u{2192} {}", number::ms(left)),
        (None, None) => String::new(),
    };
    MapEdge {
        from,
        to,
        weight: weight(edge.calls, busiest),
        label,
        late: edge.culprit > 0,
        broken: edge.passing.not_propagated > edge.passing.propagated,
    }
}

/// Traffic in four steps, each a fifth or so of the next.
fn weight(calls: u64, busiest: u64) -> u8 {
    let reaches = |part: u64| calls.saturating_mul(part) >= busiest;
    match () {
        () if reaches(3) => 4,
        () if reaches(15) => 3,
        () if reaches(75) => 2,
        () => 1,
    }
}

impl NodeRow {
    fn new(node: &Node, map: &Map, period: &Period) -> Self {
        let label = name(&node.name);
        // Whoever leaves no spans is named by the hop that waited for it.
        let filter = if node.kind == CallKind::Hop {
            filter::is("culprit.service", &node.name)
        } else {
            format!(
                "{} and (culprit.part=dependency or culprit.part=unreported)",
                filter::is("culprit.to", &node.name)
            )
        };
        let filter = format!("outcome=missed and {filter}");
        let found = requests(period, &filter, &[("sort", Some("worst"))]);
        Self {
            name: if node.kind == CallKind::Hop {
                named(&label, &service_link(period, &node.name, None))
            } else {
                format!("<bdi>{}</bdi>", Escaped(&label))
            },
            word: match (node.kind, kind_word(node.kind)) {
                (CallKind::Dependency, _) => "dependency",
                (_, word) => word,
            },
            depth: number::count(node.depth),
            runs: number::sum(node.runs),
            missed: percent(node.missed),
            is_missed: node.missed.part > 0,
            culprit: match node.culprit {
                0 => number::UNKNOWN.to_owned(),
                count => linked(&number::sum(count), found.as_deref()),
            },
            held: seconds(node.held),
            share: number::percent(node.held, map.held),
        }
    }
}

impl EdgeRow {
    fn new(edge: &Edge, period: &Period) -> Self {
        let share = edge.passing.share();
        let to = name(&edge.to);
        Self {
            from: named(
                &name(&edge.service),
                &service_link(period, &edge.service, None),
            ),
            to: if edge.kind == CallKind::Hop {
                named(&to, &service_link(period, &edge.to, None))
            } else {
                format!("<bdi>{}</bdi>", Escaped(&to))
            },
            word: kind_word(edge.kind),
            calls: number::sum(edge.calls),
            sent: ms(edge.sent.p50),
            left: ms(edge.remaining.p50),
            passed: percent(share),
            breaks: edge.passing.not_propagated > 0,
            missed: number::share(edge.missed, edge.calls, 1),
            is_missed: edge.missed > 0,
            culprit: match edge.culprit {
                0 => number::UNKNOWN.to_owned(),
                count => {
                    let filter = format!(
                        "outcome=missed and culprit.part!=local and {} and {}",
                        filter::is("culprit.service", &edge.service),
                        filter::is("culprit.to", &edge.to)
                    );
                    let found = requests(period, &filter, &[("sort", Some("worst"))]);
                    linked(&number::sum(count), found.as_deref())
                }
            },
            held: seconds(edge.held),
        }
    }
}
