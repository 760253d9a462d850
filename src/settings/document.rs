//! The text of a `dwindle.toml`: what it says, and everything that is wrong with it at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::kind::{Form, Wanted, Written};
use super::listings::{Entry, LISTINGS, Listing};
use super::near;
use super::sources::{Given, Origin, Place, Problem};
use super::table::{DEFINITIONS, SECTIONS, Section, definition};

/// What a configuration file says.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// The file, if there is one.
    pub file: Option<Arc<str>>,
    /// Single values, by section and key.
    pub values: BTreeMap<(&'static str, &'static str), Given>,
    /// Entries of the lists, in the order of the file.
    pub entries: Vec<Entry>,
    /// What is wrong, in the order of the file.
    pub problems: Vec<Problem>,
}

/// Reads a file's text.
pub(super) fn parse(name: &str, text: &str) -> Said {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = Reader {
        name: name.into(),
        lines: Lines::new(text),
        said: Said::default(),
    };
    reader.said.file = Some(Arc::clone(&reader.name));
    let (document, errors) = DeTable::parse_recoverable(text);
    let mut told = BTreeSet::new();
    let mut sound = true;
    for error in &errors {
        let at = error.span().map_or(0, |span| span.start);
        sound &= error.message() == DUPLICATE;
        // What follows a mistake on its line follows from it.
        if told.insert(reader.lines.place(at).0) {
            let message = match error.message() {
                DUPLICATE => "this key is here for the second time; remove one".to_owned(),
                message => format!("this is not TOML: {message}"),
            };
            reader.problem(at, message);
        }
    }
    // A file of another sort is wrong nearly everywhere: once is enough.
    let written = text.lines().filter(|line| !line.trim().is_empty()).count();
    if !sound && told.len() > FEW && told.len() * 2 > written {
        let (bad, problems) = (told.len(), &mut reader.said.problems);
        problems.truncate(1);
        if let Some(first) = problems.first_mut() {
            first.reason = format!(
                "this is no TOML file: {bad} of its {written} lines are not TOML; `dwindle config example` prints one that is"
            );
        }
    }
    // Keys below a broken header would be laid at the wrong door.
    if sound {
        reader.document(document.get_ref());
    }
    let mut said = reader.said;
    said.entries
        .sort_by_key(|entry| (entry.place.line, entry.place.column));
    said
}

/// As many lines may be wrong in a file of any length, and are told one by one.
const FEW: usize = 3;
/// What `toml` says of a key that is there twice.
const DUPLICATE: &str = "duplicate key";

struct Reader {
    name: Arc<str>,
    lines: Lines,
    said: Said,
}

type Key<'i> = Spanned<std::borrow::Cow<'i, str>>;

impl Reader {
    fn document(&mut self, document: &DeTable<'_>) {
        for (key, value) in document {
            let name: &str = key.get_ref();
            if let Some(section) = SECTIONS.iter().find(|section| section.name == name) {
                match value.get_ref() {
                    DeValue::Table(table) => self.section(section, table),
                    DeValue::Array(_) => self.problem(
                        key.span().start,
                        format!("there is one `{name}` only; write [{name}]"),
                    ),
                    other => self.problem(
                        key.span().start,
                        format!(
                            "`{name}` is {}, not a table; write [{name}]",
                            article(other)
                        ),
                    ),
                }
            } else if let Some(listing) = LISTINGS.iter().find(|listing| listing.name == name) {
                self.listing(listing, key, value);
            } else {
                self.unknown_at_top(key);
            }
        }
    }

    fn section(&mut self, section: &'static Section, table: &DeTable<'_>) {
        for (key, value) in table {
            let Some(definition) = definition(section.name, key.get_ref()) else {
                self.unknown(key, section);
                continue;
            };
            let checked = self.value(key, value, definition.form, definition.check);
            if let Some(given) = checked {
                let name = (definition.section, definition.key);
                self.said.values.insert(name, given);
            }
        }
    }

    fn listing(&mut self, listing: &'static Listing, key: &Key<'_>, value: &Spanned<DeValue<'_>>) {
        let name = listing.name;
        let DeValue::Array(array) = value.get_ref() else {
            let message = format!("`{name}` may be there many times; write [[{name}]]");
            return self.problem(key.span().start, message);
        };
        for item in array {
            let DeValue::Table(table) = item.get_ref() else {
                let message = format!(
                    "an entry of `{name}` is {}, not a table; write [[{name}]]",
                    article(item.get_ref())
                );
                self.problem(item.span().start, message);
                continue;
            };
            self.entry(listing, item.span().start, table);
        }
    }

    fn entry(&mut self, listing: &'static Listing, at: usize, table: &DeTable<'_>) {
        let problems = self.said.problems.len();
        let mut values = BTreeMap::new();
        for (key, value) in table {
            let mut fields = listing.fields.iter();
            let Some(field) = fields.find(|field| field.key == key.get_ref()) else {
                let keys = listing.fields.iter().map(|field| field.key);
                let message = format!(
                    "[[{}]] has no key `{}`; {}",
                    listing.name,
                    key.get_ref(),
                    suggestion(key.get_ref(), keys)
                );
                self.problem(key.span().start, message);
                continue;
            };
            if let Some(given) = self.value(key, value, field.form, field.check) {
                values.insert(field.key, given);
            }
        }
        let place = self.place(at);
        let faults = if self.said.problems.len() == problems {
            listing.faults(&values)
        } else {
            vec![]
        };
        for fault in faults {
            self.problem(at, fault);
        }
        if self.said.problems.len() == problems {
            self.said.entries.push(Entry {
                listing: listing.name,
                place,
                values,
            });
        }
    }

    /// A value's text, if it has the form and passes the check; else the problem is told.
    fn value(
        &mut self,
        key: &Key<'_>,
        value: &Spanned<DeValue<'_>>,
        form: Form,
        check: fn(&str) -> Result<(), Wanted>,
    ) -> Option<Given> {
        let at = value.span().start;
        let Some(text) = written(form.written, value.get_ref()) else {
            let wanted = match form.written {
                Written::Switch => form.wanted.to_owned(),
                written => format!("{}: {}", written.name(), form.wanted),
            };
            let (key, is) = (key.get_ref(), article(value.get_ref()));
            let message = format!("`{key}` is {is}; it has to be {wanted}");
            self.problem(at, message);
            return None;
        };
        let origin = Origin::File(self.place(at));
        if let Err(wanted) = check(text.trim()) {
            let mut problem = Problem::unfit(origin, &text, &wanted);
            problem.reason = format!("`{}`: {}", key.get_ref(), problem.reason);
            self.said.problems.push(problem);
            return None;
        }
        Some(Given { text, origin })
    }

    fn unknown(&mut self, key: &Key<'_>, section: &Section) {
        let name: &str = key.get_ref();
        let mut elsewhere = DEFINITIONS.iter().filter(|other| other.key == name);
        let own = DEFINITIONS
            .iter()
            .filter(|own| own.section == section.name)
            .map(|own| own.key);
        let what_now = match elsewhere.next() {
            Some(other) => format!("it belongs below [{}]", other.section),
            None => suggestion(name, own),
        };
        let message = format!("[{}] has no key `{name}`; {what_now}", section.name);
        self.problem(key.span().start, message);
    }

    fn unknown_at_top(&mut self, key: &Key<'_>) {
        let name: &str = key.get_ref();
        let sections = SECTIONS.iter().map(|section| section.name);
        let listings = LISTINGS.iter().map(|listing| listing.name);
        let tables = || sections.clone().chain(listings.clone());
        let keys = DEFINITIONS.iter().map(|definition| definition.key);
        let what_now = if let Some(found) = DEFINITIONS.iter().find(|known| known.key == name) {
            format!("it belongs below [{}]", found.section)
        } else if let Some(near) = near(name, tables()) {
            format!("did you mean `{near}`?")
        } else if let Some(found) =
            near(name, keys).and_then(|near| DEFINITIONS.iter().find(|known| known.key == near))
        {
            format!("did you mean `{}` in [{}]?", found.key, found.section)
        } else {
            let known: Vec<&str> = tables().collect();
            format!("there are {}", known.join(", "))
        };
        let message = format!("there is no `{name}`; {what_now}");
        self.problem(key.span().start, message);
    }

    fn problem(&mut self, at: usize, reason: String) {
        let origin = Origin::File(self.place(at));
        self.said.problems.push(Problem { origin, reason });
    }

    fn place(&self, at: usize) -> Place {
        let (line, column) = self.lines.place(at);
        Place {
            file: Arc::clone(&self.name),
            line,
            column,
        }
    }
}

fn suggestion(name: &str, keys: impl Iterator<Item = &'static str> + Clone) -> String {
    match near(name, keys.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("it has {}", keys.collect::<Vec<_>>().join(", ")),
    }
}

/// A value as the text that a flag would have for it, if it is written as it has to be.
fn written(form: Written, value: &DeValue<'_>) -> Option<String> {
    let string = |value: &DeValue<'_>| value.as_str().map(str::to_owned);
    let integer = |value: &DeValue<'_>| {
        let integer = value.as_integer()?;
        let number = i128::from_str_radix(integer.as_str(), integer.radix());
        Some(number.map_or_else(|_| integer.to_string(), |number| number.to_string()))
    };
    match form {
        Written::Text => string(value),
        Written::Integer => integer(value),
        Written::TextOrInteger => string(value).or_else(|| integer(value)),
        Written::Switch => value.as_bool().map(|switch| switch.to_string()),
        Written::List => {
            let items: Option<Vec<String>> = value
                .as_array()?
                .iter()
                .map(|item| string(item.get_ref()))
                .collect();
            Some(items?.join(","))
        }
        Written::Table => {
            let pairs: Option<Vec<String>> = value
                .as_table()?
                .iter()
                .map(|(key, value)| Some(format!("{}={}", key.get_ref(), string(value.get_ref())?)))
                .collect();
            Some(pairs?.join(","))
        }
    }
}

fn article(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a number with a point",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// Where the lines of a text begin.
pub(super) struct Lines {
    text: String,
    starts: Vec<usize>,
}

impl Lines {
    pub(super) fn new(text: &str) -> Self {
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            starts: std::iter::once(0).chain(ends).collect(),
            text: text.to_owned(),
        }
    }

    /// Line and character, from 1, of a byte.
    pub(super) fn place(&self, at: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|start| *start <= at).max(1);
        let start = self.starts.get(line - 1).copied().unwrap_or(0);
        let before = self.text.get(start..at.max(start)).unwrap_or_default();
        (line, before.chars().count() + 1)
    }
}

#[cfg(test)]
mod tests;
