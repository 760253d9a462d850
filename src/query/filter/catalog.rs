//! The table of fields for help.

use serde::Serialize;

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

/// What a field can be compared with, for whoever offers to complete a filter.
#[derive(Debug, Clone, Serialize)]
pub struct Completion {
    /// Every field, in the order of the table.
    pub fields: Vec<Completed>,
}

/// A field, as [`Completion`] tells it.
#[derive(Debug, Clone, Serialize)]
pub struct Completed {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// What it means, in a few words.
    pub meaning: &'static str,
    /// Whether it may be `null`.
    pub nullable: bool,
    /// How it can be compared.
    pub operators: &'static [&'static str],
    /// What it may be, if it is a word or true or false.
    pub values: Vec<&'static str>,
}

/// Every field with its comparisons and values.
pub fn completion() -> Completion {
    let fields = fields().iter().map(|field| Completed {
        name: field.name,
        kind: field.kind.name(),
        meaning: field.doc,
        nullable: field.nullable,
        operators: operators(field.kind),
        values: match field.kind {
            Kind::Flag => vec!["true", "false"],
            kind => kind.words(),
        },
    });
    Completion {
        fields: fields.collect(),
    }
}

/// The comparisons that the parser lets stand beside a kind.
fn operators(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Text | Kind::Word(_) => &["=", "!=", "~"],
        Kind::Id | Kind::Flag | Kind::Object => &["=", "!="],
        Kind::Time | Kind::Count | Kind::Share | Kind::Instant => {
            &["=", "!=", "<", "<=", ">", ">="]
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::filter::Filter;

    #[test]
    fn what_is_offered_can_be_parsed_and_nothing_else_can() {
        for field in completion().fields {
            let own;
            let values: &[&str] = match field.kind {
                "id" => &["4bf9"],
                "text" => &["pay"],
                "duration" => &["5ms"],
                "number" => &["5"],
                "percent" => &["5%"],
                "instant" => &["2026-10-07"],
                "object" => &["null"],
                _ => {
                    own = field.values;
                    &own
                }
            };
            for value in values {
                for operator in ["=", "!=", "<", "<=", ">", ">=", "~"] {
                    let text = format!("{} {operator} {value}", field.name);
                    let parsed = Filter::parse(&text).is_ok();
                    assert_eq!(parsed, field.operators.contains(&operator), "{text}");
                }
            }
        }
    }
}
