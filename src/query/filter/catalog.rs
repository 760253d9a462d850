//! The table of fields for help.

use super::{Kind, Of, fields};
use crate::model::Text;
use crate::query::sheet::{Cell, Column, Sheet};

const COLUMNS: &[Column] = &[
    Column::shown("field", "field", "its name"),
    Column::shown("type", "type", "what it is compared with"),
    Column::shown("meaning", "meaning", "what it is"),
    Column::machine("any", "whether one of several that matches is enough"),
    Column::machine("nullable", "whether it may be null"),
    Column::machine("words", "what it may be, if it is a word"),
];

/// Every field with its type and meaning, in the order of the table.
pub fn catalog() -> Sheet {
    let rows = fields().iter().map(|field| {
        let null = if field.nullable { " or null" } else { "" };
        let words = field.kind.words();
        let flag = |flag| Cell::Word(if flag { "true" } else { "false" });
        vec![
            Cell::Word(field.name),
            Cell::Text(Text::from(format!("{}{null}", field.kind.name()))),
            Cell::Word(field.doc),
            flag(field.of() != Of::Request),
            flag(field.nullable),
            match field.kind {
                Kind::Word(_) => Cell::Text(Text::from(words.join(" "))),
                _ => Cell::Null,
            },
        ]
    });
    Sheet {
        columns: COLUMNS,
        rows: rows.collect(),
    }
}

/// The lists of words, each with the fields that are one of them.
pub fn word_lists() -> Vec<(Vec<&'static str>, Vec<&'static str>)> {
    let mut lists: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
    for field in fields() {
        let words = field.kind.words();
        if words.is_empty() {
            continue;
        }
        match lists.iter_mut().find(|(_, known)| *known == words) {
            Some((names, _)) => names.push(field.name),
            None => lists.push((vec![field.name], words)),
        }
    }
    lists
}
