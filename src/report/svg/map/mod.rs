//! The map: services from left to right by depth, and what flows between them.

mod layers;

use std::fmt;

use super::{Escaped, Percent};
use layers::layout;

/// Everything is in pixels at the usual size of text; the whole grows with it.
const NODE: (i64, i64) = (184, 44);
/// From the left edge of a node to that of one in the next layer.
const ACROSS: i64 = 184 + 136;
/// Half of what a node and the gap under it take.
const HALF: i64 = 33;
const MARGIN: i64 = 8;
/// Room for the heads of the layers.
const HEAD: i64 = 4;
/// Width of a character of a label, and its height.
const LETTER: (i64, i64) = (7, 14);

/// A service, or something that leaves no spans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MapNode {
    /// Its name, fit to be shown.
    pub name: String,
    /// What is said under it.
    pub second: String,
    /// Whether that says that something is lost.
    pub late: bool,
    /// It leaves no spans.
    pub dependency: bool,
    /// It took the most of all missed budgets.
    pub culprit: bool,
    /// What it took of the missed budgets.
    pub taken: Percent,
    /// Where to read on.
    pub href: String,
}

/// Calls from one to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MapEdge {
    /// The caller's number.
    pub from: usize,
    /// The callee's.
    pub to: usize,
    /// How much traffic, from 1 to 4.
    pub weight: u8,
    /// `1,490 → 488`.
    pub label: String,
    /// Budget is lost on it.
    pub late: bool,
    /// The deadline is not passed on.
    pub broken: bool,
}

/// The drawing.
#[derive(Debug, Clone, Copy)]
pub struct MapDrawing<'a> {
    /// The whole in words.
    pub label: &'a str,
    /// Its nodes.
    pub nodes: &'a [MapNode],
    /// Its edges.
    pub edges: &'a [MapEdge],
}

/// A rectangle that is taken: left, top, right, bottom.
type Taken = (i64, i64, i64, i64);

impl fmt::Display for MapDrawing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs: Vec<(usize, usize)> = self.edges.iter().map(|e| (e.from, e.to)).collect();
        let layout = layout(self.nodes.len(), &pairs);
        let layers = i64::try_from(layout.layers.max(1)).unwrap_or(1);
        let wide = (layers - 1) * ACROSS + NODE.0 + 2 * MARGIN;
        let tall = HEAD + layout.height * HALF + 2 * MARGIN;
        let label = Escaped(self.label);
        write!(
            f,
            r#"<svg class="map" viewBox="0 0 {wide} {tall}" width="{}rem" height="{}rem" role="group" aria-label="{label}">"#,
            rem(wide),
            rem(tall)
        )?;
        let boxes: Vec<Taken> = layout.nodes.iter().map(|place| frame(*place)).collect();
        let ways = layout.edges.iter().zip(&layout.back);
        let ways: Vec<Vec<(i64, i64)>> = ways.map(|(path, back)| way(path, *back)).collect();
        for (index, edge) in self.edges.iter().enumerate() {
            let back = layout.back.get(index).copied().unwrap_or(false);
            if let Some(way) = ways.get(index).filter(|way| way.len() > 1) {
                draw(edge, way, back, f)?;
            }
        }
        let mut taken = boxes.clone();
        for (edge, way) in self.edges.iter().zip(&ways) {
            if !edge.label.is_empty()
                && let Some((x, y)) = room(edge, way, &mut taken)
            {
                let late = if edge.late { " l" } else { "" };
                let text = Escaped(&edge.label);
                write!(
                    f,
                    r#"<text class="el2{late}" x="{x}" y="{y}" dominant-baseline="central" aria-hidden="true">{text}</text>"#
                )?;
            }
        }
        for (node, frame) in self.nodes.iter().zip(&boxes) {
            put(node, *frame, f)?;
        }
        f.write_str("</svg>")
    }
}

/// Pixels as a length that grows with the text.
fn rem(pixels: i64) -> String {
    Percent::thousandths(u32::try_from(pixels * 1000 / 16).unwrap_or(u32::MAX))
        .to_string()
        .trim_end_matches('%')
        .to_owned()
}

/// The frame of a node.
fn frame((layer, y): (usize, i64)) -> Taken {
    let left = MARGIN + i64::try_from(layer).unwrap_or(0) * ACROSS;
    let top = HEAD + MARGIN + y * HALF;
    (left, top, left + NODE.0, top + NODE.1)
}

/// The points of an edge: out of the caller's right side, past bends, into the callee's left side.
/// One that runs back lies lower, as it may have the same ends as one that runs forward.
fn way(path: &[(usize, i64)], back: bool) -> Vec<(i64, i64)> {
    let mut points = Vec::new();
    let last = path.len().saturating_sub(1);
    for (index, place) in path.iter().enumerate() {
        let (left, top, right, bottom) = frame(*place);
        let middle = top.midpoint(bottom) + if back { 12 } else { 0 };
        if index > 0 {
            points.push((left, middle));
        }
        if index < last {
            points.push((right, middle));
        }
    }
    points
}

fn draw(edge: &MapEdge, way: &[(i64, i64)], back: bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let late = if edge.late { " late" } else { "" };
    let broken = if edge.broken { " no" } else { "" };
    // The line ends within the head of the arrow, whatever its width.
    let mut line = way.to_vec();
    let end = if back {
        line.first_mut()
    } else {
        line.last_mut()
    };
    let head = end.map(|end| {
        let head = *end;
        end.0 += if back { 6 } else { -6 };
        head
    });
    write!(f, r#"<path class="eg w{}{late}{broken}" d=""#, edge.weight)?;
    for (index, &(x, y)) in line.iter().enumerate() {
        match index.checked_sub(1).and_then(|before| line.get(before)) {
            None => write!(f, "M{x} {y}")?,
            // Past a bend it runs straight.
            Some(&(_, py)) if py == y => write!(f, "L{x} {y}")?,
            Some(&(px, py)) => {
                let middle = px.midpoint(x);
                write!(f, "C{middle} {py} {middle} {y} {x} {y}")?;
            }
        }
    }
    f.write_str(r#""/>"#)?;
    if let Some((x, y)) = head {
        let (by, half) = (if back { 9 } else { -9 }, 3 + i64::from(edge.weight));
        let (base, up, down) = (x + by, y - half, y + half);
        write!(
            f,
            r#"<path class="ah{late}" d="M{x} {y}L{base} {up}L{base} {down}z"/>"#
        )?;
    }
    if edge.broken
        && let Some((x, y)) = head
    {
        // Near the callee, where lines that begin together have parted.
        let x = if back { x + 14 } else { x - 24 };
        let (low, high) = (y + 6, y - 6);
        let (first, second) = ((x, x + 4), (x + 5, x + 9));
        write!(
            f,
            r#"<path class="brk" d="M{} {low}L{} {high}M{} {low}L{} {high}"/>"#,
            first.0, first.1, second.0, second.1
        )?;
    }
    Ok(())
}

/// Where the label of an edge has room: before the callee, after the caller, else on the way; it is
/// taken then.
fn room(edge: &MapEdge, way: &[(i64, i64)], taken: &mut Vec<Taken>) -> Option<(i64, i64)> {
    let half = i64::try_from(edge.label.chars().count()).unwrap_or(0) * LETTER.0 / 2 + 2;
    let mut spots = Vec::new();
    if let (Some(&(x0, y0)), Some(&(x1, y1))) = (way.first(), way.last()) {
        let (near, far) = (x1 - half - 14, x0 + half + 26);
        spots.extend([
            (near, y1 - 10),
            (near, y1 + 10),
            (far, y0 - 10),
            (far, y0 + 10),
        ]);
    }
    for pair in way.windows(2) {
        if let &[(x0, y0), (x1, y1)] = pair {
            for part in [50, 62, 38] {
                // The curve's height at this part of the way: it starts and ends level.
                let (t, rest) = (part, 100 - part);
                let share = 3 * rest * t * t + t * t * t;
                let y = y0 + (y1 - y0) * share / 1_000_000;
                let x = x0 + (x1 - x0) * part / 100;
                spots.extend([(x, y - 10), (x, y + 10)]);
            }
        }
    }
    let free = |&(x, y): &(i64, i64)| {
        let (left, top, right, bottom) = (x - half, y - LETTER.1 / 2, x + half, y + LETTER.1 / 2);
        let apart = |t: &Taken| right <= t.0 || t.2 <= left || bottom <= t.1 || t.3 <= top;
        taken.iter().all(apart)
    };
    let spot = spots.iter().find(|spot| free(spot)).copied()?;
    let (x, y) = spot;
    taken.push((x - half, y - LETTER.1 / 2, x + half, y + LETTER.1 / 2));
    Some(spot)
}

fn put(
    node: &MapNode,
    (left, top, right, bottom): Taken,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let (wide, tall) = (right - left, bottom - top);
    let dependency = if node.dependency { " dep" } else { "" };
    let href = Escaped(&node.href);
    write!(
        f,
        r#"<a href="{href}" data-row="1"><rect class="nd{dependency}" x="{left}" y="{top}" width="{wide}" height="{tall}"/>"#
    )?;
    let mark = if node.culprit { 16 } else { 0 };
    if node.culprit {
        let (x, y) = (left + 8, top + 14);
        write!(
            f,
            r#"<path class="cum" d="M{} {}l5 5-5 5-5-5z"/>"#,
            x + 5,
            y - 5
        )?;
    }
    // Names of any length and script are cut by the frame.
    let (inner, name) = (wide - 16 - mark, Escaped(&node.name));
    let start = left + 8 + mark;
    write!(
        f,
        r#"<svg x="{start}" y="{top}" width="{inner}" height="{tall}" overflow="hidden"><text class="nn" x="0" y="17">{name}</text></svg> "#
    )?;
    let (class, second) = (if node.late { "s2 l" } else { "s2" }, Escaped(&node.second));
    let (x, y) = (left + 8, top + 34);
    write!(
        f,
        r#"<text class="{class}" x="{x}" y="{y}">{second}</text>"#
    )?;
    if node.taken > Percent::ZERO {
        let (bar, by) = (48, top + 27);
        let x = right - 8 - bar;
        let taken = node.taken;
        write!(
            f,
            r#"<svg x="{x}" y="{by}" width="{bar}" height="8"><rect class="bt" x="0" width="{taken}" height="100%"/><rect class="bb" x="0" y="0" width="100%" height="100%"/></svg>"#
        )?;
    }
    f.write_str("</a>")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str) -> MapNode {
        MapNode {
            name: name.to_owned(),
            second: "4.2\u{a0}% missed".to_owned(),
            late: true,
            dependency: false,
            culprit: false,
            taken: Percent::of(1, 2),
            href: format!("/services/{name}"),
        }
    }

    fn edge(from: usize, to: usize) -> MapEdge {
        MapEdge {
            from,
            to,
            weight: 2,
            label: "500 \u{2192} 498".to_owned(),
            late: false,
            broken: to == 2,
        }
    }

    #[test]
    fn nodes_stand_in_columns_and_names_are_escaped() {
        let nodes = [node("a"), node("<b>"), node("c")];
        let edges = [edge(0, 1), edge(1, 2), edge(0, 2)];
        let map = MapDrawing {
            label: "three \"services\"",
            nodes: &nodes,
            edges: &edges,
        };
        let svg = map.to_string();
        assert_eq!(svg, map.to_string());
        for part in [
            r#"aria-label="three &quot;services&quot;""#,
            r#"<rect class="nd" x="8""#,
            r#"<rect class="nd" x="328""#,
            r#"<rect class="nd" x="648""#,
            "&lt;b&gt;</text>",
            r#"class="eg w2 no""#,
        ] {
            assert!(svg.contains(part), "{part}\n{svg}");
        }
        assert_eq!(svg.matches(r#"class="el2""#).count(), 3);
        assert_eq!(svg.matches(r#"class="brk""#).count(), 2);
    }

    #[test]
    fn labels_do_not_lie_on_nodes_or_on_each_other() {
        let mut taken = vec![(0, 0, 100, 44), (200, 0, 300, 44)];
        let edge = edge(0, 1);
        let way = [(100, 22), (200, 22)];
        let first = room(&edge, &way, &mut taken).unwrap();
        let second = room(&edge, &way, &mut taken).unwrap();
        assert_eq!(first, (153, 12));
        assert_eq!(second, (153, 32));
        // The third has no room, and is left to the table.
        assert_eq!(room(&edge, &way, &mut taken), None);
    }
}
