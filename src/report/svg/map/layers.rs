//! A layered drawing of who calls whom: callers left of callees, few crossings, no library.
//!
//! **Invariant**: the same nodes and edges in the same order give the same drawing; every loop here
//! ends after a number of steps that is known before.

use std::collections::VecDeque;

/// Sweeps that move nodes towards those that they are joined with.
const ROUNDS: usize = 8;

/// Where everything lies.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Layout {
    /// Of each node: its layer from the left, and its place in half rows from the top.
    pub(super) nodes: Vec<(usize, i64)>,
    /// Of each edge: the places that it goes through, from the node on the left to that on the
    /// right; empty for an edge from a node to itself.
    pub(super) edges: Vec<Vec<(usize, i64)>>,
    /// Edges that run from right to left, which closed a cycle.
    pub(super) back: Vec<bool>,
    /// How many layers there are.
    pub(super) layers: usize,
    /// How many half rows.
    pub(super) height: i64,
}

/// Lays out `nodes` nodes; edges name them by number.
pub(super) fn layout(nodes: usize, edges: &[(usize, usize)]) -> Layout {
    let back = back_edges(nodes, edges);
    let forward: Vec<(usize, usize)> = edges
        .iter()
        .zip(&back)
        .map(|(&(from, to), &back)| if back { (to, from) } else { (from, to) })
        .collect();
    let layer = layers(nodes, &forward);
    let mut grid = Grid::new(&layer, &forward);
    grid.order();
    let y = grid.heights();
    let at = |node: usize| (grid.layer_of(node), y.get(node).copied().unwrap_or(0));
    Layout {
        nodes: (0..nodes).map(at).collect(),
        edges: grid
            .paths
            .iter()
            .map(|path| path.iter().map(|&node| at(node)).collect())
            .collect(),
        back,
        layers: grid.rows.len(),
        height: y.iter().copied().max().map_or(0, |most| most + 2),
    }
}

/// Edges that close a cycle, found from the first node on, depth first.
fn back_edges(nodes: usize, edges: &[(usize, usize)]) -> Vec<bool> {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        Never,
        Open,
        Done,
    }
    let mut out: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    let mut entered = vec![false; nodes];
    for (index, &(from, to)) in edges.iter().enumerate() {
        if let Some(list) = out.get_mut(from) {
            list.push(index);
        }
        if from != to
            && let Some(entered) = entered.get_mut(to)
        {
            *entered = true;
        }
    }
    let mut seen = vec![Seen::Never; nodes];
    let mut back = vec![false; edges.len()];
    // Where nothing enters, requests begin: what is found from there runs left to right.
    let starts = (0..nodes).filter(|node| !entered[*node]);
    for start in starts.chain(0..nodes) {
        if seen[start] != Seen::Never {
            continue;
        }
        seen[start] = Seen::Open;
        let mut stack = vec![(start, 0)];
        while let Some((node, next)) = stack.pop() {
            let Some(&edge) = out[node].get(next) else {
                seen[node] = Seen::Done;
                continue;
            };
            stack.push((node, next + 1));
            let to = edges[edge].1;
            match seen.get(to) {
                Some(Seen::Open) => back[edge] = true,
                Some(Seen::Never) => {
                    seen[to] = Seen::Open;
                    stack.push((to, 0));
                }
                _ => {}
            }
        }
    }
    back
}

/// The longest way to each node, over edges without cycles.
fn layers(nodes: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut layer = vec![0; nodes];
    let mut open = vec![0_usize; nodes];
    let mut out: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    for &(from, to) in edges.iter().filter(|(from, to)| from != to) {
        if from < nodes && to < nodes {
            open[to] += 1;
            out[from].push(to);
        }
    }
    let mut ready: VecDeque<usize> = (0..nodes).filter(|node| open[*node] == 0).collect();
    while let Some(node) = ready.pop_front() {
        for &to in &out[node] {
            layer[to] = layer[to].max(layer[node] + 1);
            open[to] -= 1;
            if open[to] == 0 {
                ready.push_back(to);
            }
        }
    }
    layer
}

/// Nodes in layers, with a bend on each layer that an edge passes by.
struct Grid {
    /// Nodes and bends of each layer, from the top.
    rows: Vec<Vec<usize>>,
    /// The layer of each node and bend.
    layer: Vec<usize>,
    /// Neighbours in the layer before, and in the one after.
    before: Vec<Vec<usize>>,
    after: Vec<Vec<usize>>,
    /// The nodes and bends of each edge.
    paths: Vec<Vec<usize>>,
    /// How many are nodes; bends follow them.
    nodes: usize,
}

impl Grid {
    fn new(layer: &[usize], edges: &[(usize, usize)]) -> Self {
        let count = layer.iter().max().map_or(0, |most| most + 1);
        let mut grid = Self {
            rows: vec![Vec::new(); count],
            layer: layer.to_vec(),
            before: Vec::new(),
            after: Vec::new(),
            paths: Vec::new(),
            nodes: layer.len(),
        };
        for &(from, to) in edges {
            let mut path = Vec::new();
            if from != to && from < layer.len() && to < layer.len() {
                path.push(from);
                for between in layer[from] + 1..layer[to] {
                    path.push(grid.layer.len());
                    grid.layer.push(between);
                }
                path.push(to);
            }
            grid.paths.push(path);
        }
        let all = grid.layer.len();
        (grid.before, grid.after) = (vec![Vec::new(); all], vec![Vec::new(); all]);
        for pair in grid.paths.iter().flat_map(|path| path.windows(2)) {
            if let &[left, right] = pair {
                grid.after[left].push(right);
                grid.before[right].push(left);
            }
        }
        for (node, layer) in grid.layer.iter().enumerate() {
            grid.rows[*layer].push(node);
        }
        grid
    }

    fn layer_of(&self, node: usize) -> usize {
        self.layer.get(node).copied().unwrap_or(0)
    }

    /// Orders each layer by where its neighbours are; keeps the order with the fewest crossings.
    fn order(&mut self) {
        let mut best = (self.crossings(), self.rows.clone());
        for round in 0..ROUNDS {
            let forward = round % 2 == 0;
            let count = self.rows.len();
            for step in 1..count {
                let (layer, beside) = if forward {
                    (step, step - 1)
                } else {
                    (count - 1 - step, count - step)
                };
                let place = self.places(beside);
                let joined = if forward { &self.before } else { &self.after };
                let mut row: Vec<(i64, usize)> = Vec::new();
                for (index, &node) in self.rows[layer].iter().enumerate() {
                    let places = joined[node].iter().filter_map(|other| place[*other]);
                    let (sum, number) = places.fold((0, 0), |(sum, n), at| (sum + at, n + 1));
                    // What is joined with nothing stays where it is.
                    let middle = match number {
                        0 => i64::try_from(index).unwrap_or(0) * 1000,
                        number => sum * 1000 / number,
                    };
                    row.push((middle, node));
                }
                row.sort_by_key(|(middle, _)| *middle);
                self.rows[layer] = row.into_iter().map(|(_, node)| node).collect();
            }
            let crossings = self.crossings();
            if crossings < best.0 {
                best = (crossings, self.rows.clone());
            }
        }
        self.rows = best.1;
    }

    /// The place of each node of a layer.
    fn places(&self, layer: usize) -> Vec<Option<i64>> {
        let mut place = vec![None; self.layer.len()];
        for (index, &node) in self.rows[layer].iter().enumerate() {
            place[node] = i64::try_from(index).ok();
        }
        place
    }

    fn crossings(&self) -> usize {
        let mut crossings = 0;
        for layer in 1..self.rows.len() {
            let place = self.places(layer);
            // Ends of the edges in order of their beginnings: each inversion is a crossing.
            let mut ends: Vec<i64> = Vec::new();
            for &node in &self.rows[layer - 1] {
                let mut here: Vec<i64> = self.after[node]
                    .iter()
                    .filter_map(|to| place[*to])
                    .collect();
                here.sort_unstable();
                for end in here {
                    crossings += ends.iter().filter(|other| **other > end).count();
                    ends.push(end);
                }
            }
        }
        crossings
    }

    /// Half rows from the top for each node and bend: near its neighbours, with room between.
    fn heights(&self) -> Vec<i64> {
        let mut y = vec![0_i64; self.layer.len()];
        let tallest = self
            .rows
            .iter()
            .map(|row| self.room(row))
            .max()
            .unwrap_or(0);
        for row in &self.rows {
            let mut at = (tallest - self.room(row)) / 2;
            for &node in row {
                y[node] = at;
                at += self.size(node);
            }
        }
        for round in 0..ROUNDS {
            let joined = if round % 2 == 0 {
                &self.before
            } else {
                &self.after
            };
            for row in &self.rows {
                self.settle(row, joined, &mut y);
            }
        }
        let least = y.iter().copied().min().unwrap_or(0);
        for at in &mut y {
            *at -= least;
        }
        y
    }

    /// Moves the nodes of a layer towards their neighbours, as far as there is room.
    fn settle(&self, row: &[usize], joined: &[Vec<usize>], y: &mut [i64]) {
        let wanted: Vec<i64> = row
            .iter()
            .map(|&node| {
                let others = &joined[node];
                match i64::try_from(others.len()) {
                    Ok(count) if count > 0 => {
                        others.iter().map(|other| y[*other]).sum::<i64>() / count
                    }
                    _ => y[node],
                }
            })
            .collect();
        let mut least = i64::MIN;
        for (&node, &wanted) in row.iter().zip(&wanted) {
            y[node] = wanted.max(least);
            least = y[node] + self.size(node);
        }
        // What was pushed down takes all back by half of that.
        let pushed: i64 = row
            .iter()
            .zip(&wanted)
            .map(|(&n, wanted)| y[n] - wanted)
            .sum();
        let count = i64::try_from(row.len()).unwrap_or(1).max(1);
        for &node in row {
            y[node] -= pushed / count;
        }
    }

    /// Half rows that a node or bend takes.
    fn size(&self, node: usize) -> i64 {
        if node < self.nodes { 2 } else { 1 }
    }

    fn room(&self, row: &[usize]) -> i64 {
        row.iter().map(|node| self.size(*node)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn callers_are_left_of_callees_and_long_edges_bend() {
        // 0 calls 1 and 3, 1 calls 2, 2 calls 3.
        let layout = layout(4, &[(0, 1), (0, 3), (1, 2), (2, 3)]);
        let layers: Vec<usize> = layout.nodes.iter().map(|(layer, _)| *layer).collect();
        assert_eq!(layers, [0, 1, 2, 3]);
        assert_eq!(layout.edges[1].len(), 4);
        assert_eq!(layout.layers, 4);
        assert_eq!(layout.back, [false; 4]);
    }

    #[test]
    fn a_cycle_is_cut_where_it_closes_and_a_call_to_oneself_has_no_way() {
        let layout = layout(3, &[(1, 2), (2, 1), (0, 1), (1, 1)]);
        assert_eq!(layout.back, [false, true, false, true]);
        let layers: Vec<usize> = layout.nodes.iter().map(|(layer, _)| *layer).collect();
        assert_eq!(layers, [0, 1, 2]);
        assert!(layout.edges[3].is_empty());
        assert_eq!(layout.edges[1].first().map(|place| place.0), Some(1));
    }

    #[test]
    fn edges_that_need_not_cross_do_not() {
        // 0 and 1 call 4 and 3, each its own, then 2 calls both callers.
        let edges = [(2, 0), (2, 1), (0, 4), (1, 3)];
        let layout = layout(5, &edges);
        let y = |node: usize| layout.nodes[node].1;
        assert_eq!(y(0) < y(1), y(4) < y(3));
    }

    proptest! {
        #[test]
        fn any_graph_is_laid_out_without_overlaps(
            nodes in 1_usize..24,
            edges in prop::collection::vec((0_usize..24, 0_usize..24), 0..60),
        ) {
            let edges: Vec<_> = edges.into_iter().map(|(a, b)| (a % nodes, b % nodes)).collect();
            let found = layout(nodes, &edges);
            prop_assert_eq!(&found, &layout(nodes, &edges));
            for a in 0..nodes {
                for b in 0..a {
                    let ((la, ya), (lb, yb)) = (found.nodes[a], found.nodes[b]);
                    prop_assert!(la != lb || (ya - yb).abs() >= 2, "{a} {b}: {found:?}");
                }
                prop_assert!(found.nodes[a].1 >= 0 && found.nodes[a].1 + 2 <= found.height);
            }
            for ((&(from, to), path), back) in edges.iter().zip(&found.edges).zip(&found.back) {
                if from == to {
                    prop_assert!(path.is_empty());
                    continue;
                }
                let (left, right) = if *back { (to, from) } else { (from, to) };
                prop_assert_eq!(path.first(), Some(&found.nodes[left]));
                prop_assert_eq!(path.last(), Some(&found.nodes[right]));
                prop_assert!(path.windows(2).all(|pair| pair[1].0 == pair[0].0 + 1));
            }
        }
    }
}
