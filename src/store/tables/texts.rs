//! Columns of texts and ids that come again and again: each is kept once.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use compact_str::CompactString;
use polars::prelude::{
    Column as Filled, DataType, IdxCa, IntoColumn, NewChunkedArray, PlSmallStr, PolarsResult,
    StringChunkedBuilder,
};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// XXH3 of a text in one go: what can take it in pieces keeps half a kilobyte for that.
#[derive(Debug, Default)]
pub(super) struct OneShot(u64);

impl Hasher for OneShot {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64_with_seed(bytes, self.0);
    }

    fn write_u8(&mut self, byte: u8) {
        self.0 = self.0.rotate_left(8) ^ u64::from(byte);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// A column of ids of one kind: numbers into a list in which those that follow each other differ.
pub(super) struct Ids {
    numbers: Vec<u32>,
    list: StringChunkedBuilder,
    /// The one at the end of the list, or null.
    last: Option<u128>,
}

impl Ids {
    pub(super) fn new(name: PlSmallStr) -> Self {
        Self {
            numbers: Vec::new(),
            list: StringChunkedBuilder::new(name, 0),
            last: None,
        }
    }

    pub(super) fn push(
        &mut self,
        id: Option<u128>,
        append: impl FnOnce(&mut StringChunkedBuilder),
    ) {
        match self.numbers.last() {
            Some(last) if self.last == id => self.numbers.push(*last),
            last => {
                self.numbers.push(last.map_or(0, |last| last + 1));
                append(&mut self.list);
                self.last = id;
            }
        }
    }

    pub(super) fn finish(self) -> PolarsResult<Filled> {
        let list = self.list.finish().into_column();
        // Where no two are the same, the list is the column.
        if list.len() == self.numbers.len() {
            return Ok(list);
        }
        list.take(&IdxCa::from_vec(PlSmallStr::EMPTY, self.numbers))
    }
}

/// A column of texts that repeat: numbers into a list in which each text stands once. A column
/// whose texts turn out to be of one row each is kept as it is: to look for each would be in vain.
#[derive(Default)]
pub(super) struct Words {
    numbers: Vec<u32>,
    known: HashMap<CompactString, u32, BuildHasherDefault<OneShot>>,
    list: Vec<CompactString>,
    /// Of each in the list, the number that came after it: rows often come in turns.
    next: Vec<u32>,
    last: u32,
    plain: Option<StringChunkedBuilder>,
}

impl Words {
    /// The number of null.
    const NULL: u32 = u32::MAX;
    /// Rows after which it is known whether texts repeat.
    const ENOUGH: usize = 1024;

    pub(super) fn push(&mut self, text: &str) {
        if let Some(plain) = &mut self.plain {
            plain.append_value(text);
            return;
        }
        let last = self.last as usize;
        let next = self.next.get(last).copied().unwrap_or(0);
        let guess = self.list.get(next as usize);
        let number = if guess.is_some_and(|guess| guess == text) {
            next
        } else {
            let number = self.number(text);
            if let Some(next) = self.next.get_mut(last) {
                *next = number;
            }
            number
        };
        self.last = number;
        self.numbers.push(number);
        if self.numbers.len() == Self::ENOUGH && self.list.len() > Self::ENOUGH / 2 {
            self.give_up();
        }
    }

    fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.known.get(text) {
            return *number;
        }
        let number = self.list.len() as u32;
        self.list.push(text.into());
        // Most columns say the same row after row.
        self.next.push(number);
        self.known.insert(text.into(), number);
        number
    }

    pub(super) fn push_null(&mut self) {
        match &mut self.plain {
            Some(plain) => plain.append_null(),
            None => self.numbers.push(Self::NULL),
        }
    }

    fn give_up(&mut self) {
        let words = std::mem::take(self);
        let mut plain = StringChunkedBuilder::new(PlSmallStr::EMPTY, words.numbers.len());
        for number in &words.numbers {
            plain.append_option(words.list.get(*number as usize));
        }
        self.plain = Some(plain);
    }

    /// Taking from the list copies sixteen bytes a row, not the text.
    pub(super) fn finish(self, name: &'static str) -> PolarsResult<Filled> {
        let name = PlSmallStr::from_static(name);
        if let Some(plain) = self.plain {
            return Ok(plain.finish().with_name(name).into_column());
        }
        if self.list.is_empty() {
            let rows = self.numbers.len();
            return Ok(Filled::full_null(name, rows, &DataType::String));
        }
        let mut list = StringChunkedBuilder::new(name.clone(), self.list.len());
        self.list.iter().for_each(|text| list.append_value(text));
        let list = list.finish().into_column();
        if self.numbers.contains(&Self::NULL) {
            let numbers = self.numbers.into_iter();
            let numbers = numbers.map(|number| (number != Self::NULL).then_some(number));
            let numbers: Vec<Option<u32>> = numbers.collect();
            return list.take(&IdxCa::from_slice_options(name, &numbers));
        }
        list.take(&IdxCa::from_vec(name, self.numbers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn column(texts: &[Option<String>]) -> Vec<Option<String>> {
        let mut words = Words::default();
        for text in texts {
            match text {
                Some(text) => words.push(text),
                None => words.push_null(),
            }
        }
        let column = words.finish("column").unwrap();
        assert_eq!(
            (column.name().as_str(), column.len()),
            ("column", texts.len())
        );
        let texts = column.str().unwrap().iter();
        texts.map(|text| text.map(str::to_owned)).collect()
    }

    #[test]
    fn a_column_has_what_was_put_whether_texts_repeat_or_not() {
        // In turns, at random, each but once, and each but once from somewhere on.
        let rows = 0..3 * Words::ENOUGH;
        let in_turns = rows
            .clone()
            .map(|row| Some(["a", "b", "a", "c"][row % 4].to_owned()));
        assert_same(&in_turns.collect::<Vec<_>>());
        let once = rows
            .clone()
            .map(|row| (row % 7 > 0).then(|| format!("the text of row {row}")));
        assert_same(&once.collect::<Vec<_>>());
        let later = rows.map(|row| Some(format!("row {}", row.saturating_sub(Words::ENOUGH))));
        assert_same(&later.collect::<Vec<_>>());
        assert_same(&[None, None, None]);
        assert_same(&[]);
    }

    fn assert_same(texts: &[Option<String>]) {
        assert_eq!(column(texts), texts);
    }

    proptest! {
        #[test]
        fn texts_come_back_as_they_were_put(
            texts in proptest::collection::vec(proptest::option::of("[ab]{0,3}"), 0..200),
        ) {
            prop_assert_eq!(column(&texts), texts);
        }
    }
}
