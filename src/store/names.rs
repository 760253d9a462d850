//! Numbers for groups that are told apart by names.

use std::collections::HashMap;
use std::hash::BuildHasher as _;

use xxhash_rust::xxh3::Xxh3DefaultBuilder;

use crate::model::Text;

/// Numbers groups from 0 in the order in which they first come.
#[derive(Debug)]
pub struct Names<const N: usize> {
    list: Vec<[Text; N]>,
    /// Groups by the hash of their names; of equal hashes the names decide.
    by_hash: HashMap<u64, Vec<usize>, Xxh3DefaultBuilder>,
    /// The group that came after each the last time. Requests are alike: mostly it comes again.
    followed_by: Vec<usize>,
    last: usize,
}

impl<const N: usize> Default for Names<N> {
    fn default() -> Self {
        Self {
            list: Vec::new(),
            by_hash: HashMap::default(),
            followed_by: Vec::new(),
            last: 0,
        }
    }
}

impl<const N: usize> Names<N> {
    /// The number of the group with these names.
    pub fn number(&mut self, names: [&str; N]) -> usize {
        let guess = self.followed_by.get(self.last).copied();
        let number = match guess.filter(|guess| self.is(*guess, names)) {
            Some(number) => number,
            None => self.look_up(names),
        };
        if let Some(follows) = self.followed_by.get_mut(self.last) {
            *follows = number;
        }
        self.last = number;
        number
    }

    /// The names of each group, by its number.
    pub fn into_list(self) -> Vec<[Text; N]> {
        self.list
    }

    fn is(&self, number: usize, names: [&str; N]) -> bool {
        let known = self.list.get(number);
        known.is_some_and(|known| known.iter().zip(names).all(|(a, b)| a == b))
    }

    fn look_up(&mut self, names: [&str; N]) -> usize {
        let hash = self.by_hash.hasher().hash_one(names);
        let known = self.by_hash.get(&hash).into_iter().flatten().copied();
        if let Some(number) = known.clone().find(|number| self.is(*number, names)) {
            return number;
        }
        let number = self.list.len();
        self.by_hash.entry(hash).or_default().push(number);
        self.list.push(names.map(Text::from));
        self.followed_by.push(number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_have_one_number_whatever_they_follow() {
        let mut names = Names::<2>::default();
        let order = [
            ("a", "x"),
            ("b", "x"),
            ("a", "x"),
            ("a", "y"),
            ("b", "x"),
            ("ab", ""),
        ];
        let numbers = order.map(|(a, b)| names.number([a, b]));
        assert_eq!(numbers, [0, 1, 0, 2, 1, 3]);
        assert_eq!(names.into_list().len(), 4);
    }
}
