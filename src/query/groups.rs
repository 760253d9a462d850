//! Numbers of groups that are told apart by names.

use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use crate::model::Text;
use crate::store::Names;

/// What is added up of a group.
pub(super) trait Group: Default {
    /// Takes in what another added up.
    fn merge(&mut self, other: Self);
}

/// Groups, each with its names.
#[derive(Debug)]
pub(super) struct Groups<const N: usize, G> {
    names: Names<N>,
    groups: Vec<G>,
}

impl<const N: usize, G> Default for Groups<N, G> {
    fn default() -> Self {
        Self {
            names: Names::default(),
            groups: Vec::new(),
        }
    }
}

impl<const N: usize, G: Group> Groups<N, G> {
    /// Works on the group with these names.
    pub(super) fn with(&mut self, names: [&str; N], work: impl FnOnce(&mut G)) {
        let number = self.names.number(names);
        if number >= self.groups.len() {
            self.groups.resize_with(number + 1, G::default);
        }
        if let Some(group) = self.groups.get_mut(number) {
            work(group);
        }
    }

    /// Takes in the groups of another.
    pub(super) fn merge(&mut self, other: Self) {
        for (names, group) in other.into_groups() {
            self.with(names.each_ref().map(Text::as_str), |own| own.merge(group));
        }
    }

    /// Each with its names.
    pub(super) fn into_groups(self) -> impl Iterator<Item = ([Text; N], G)> {
        self.names.into_list().into_iter().zip(self.groups)
    }

    /// Rows of the groups, the greatest rank first, equal ones by their names. They are made on
    /// all cores: percentiles of millions of times take a while.
    pub(super) fn rows<R: Ord + Send, T: Send>(
        self,
        row: impl Fn([Text; N], G) -> (R, T) + Sync,
    ) -> Vec<T>
    where
        G: Send,
    {
        let mut groups: Vec<_> = self.into_groups().collect();
        groups.sort_by(|(a, _), (b, _)| a.cmp(b));
        let rows = groups.into_par_iter();
        let mut rows: Vec<_> = rows.map(|(names, group)| row(names, group)).collect();
        rows.sort_by(|(a, _), (b, _)| b.cmp(a));
        rows.into_iter().map(|(_, row)| row).collect()
    }
}
