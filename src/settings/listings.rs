//! What may be there many times: the `[[…]]` of `dwindle.toml`, each once, as data.

use std::collections::BTreeMap;

use super::kind::{self, Form, Wanted};
use super::sources::{Given, Place};

/// A list of tables in `dwindle.toml`.
#[derive(Debug, Clone, Copy)]
pub struct Listing {
    /// Its name.
    pub name: &'static str,
    /// What it is for, line by line.
    pub doc: &'static [&'static str],
    /// Its keys.
    pub fields: &'static [Field],
    /// Of these keys, one at least is needed.
    pub some_of: &'static [&'static str],
    /// Of these keys, one at most is wanted.
    pub one_of: &'static [&'static [&'static str]],
}

/// A key of a [`Listing`].
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Its name.
    pub key: &'static str,
    /// What it is for.
    pub doc: &'static str,
    /// Whether an entry without it means nothing.
    pub required: bool,
    /// A value, as in the example; empty: the example does without it.
    pub example: &'static str,
    /// How its value is written.
    pub form: Form,
    /// Whether a text is a value of it.
    pub check: fn(&str) -> Result<(), Wanted>,
}

/// One entry of a [`Listing`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Which list it is in.
    pub listing: &'static str,
    /// Where it begins.
    pub place: Place,
    /// What it says, by key.
    pub values: BTreeMap<&'static str, Given>,
}

impl Listing {
    /// What an entry lacks or has too much of.
    pub(super) fn faults(&self, values: &BTreeMap<&'static str, Given>) -> Vec<String> {
        let name = self.name;
        let quoted = |keys: &[&str], and: &str| {
            let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
            keys.join(and)
        };
        let mut faults = Vec::new();
        for field in self.fields.iter().filter(|field| field.required) {
            if !values.contains_key(field.key) {
                let (key, wanted) = (field.key, field.form.wanted);
                faults.push(format!("[[{name}]] needs `{key}`: {wanted}"));
            }
        }
        if !self.some_of.is_empty() && !self.some_of.iter().any(|key| values.contains_key(key)) {
            let keys = quoted(self.some_of, " or ");
            faults.push(format!("[[{name}]] needs {keys}"));
        }
        for keys in self.one_of {
            let given = keys.iter().filter(|key| values.contains_key(*key));
            match given.count() {
                1 => {}
                0 => faults.push(format!("[[{name}]] needs {}", quoted(keys, " or "))),
                _ => faults.push(format!(
                    "[[{name}]] has {}; one of them is enough",
                    quoted(keys, " and ")
                )),
            }
        }
        faults
    }
}

impl Entry {
    /// What it says of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(|given| given.text.trim())
    }
}

macro_rules! field {
    ($key:literal, $kind:ident, $required:literal, $example:literal, $doc:literal) => {
        Field {
            key: $key,
            doc: $doc,
            required: $required,
            example: $example,
            form: kind::$kind.form,
            check: |text| (kind::$kind.parse)(text).map(drop),
        }
    };
}

const SERVICE: Field = field!(
    "service",
    PATTERN,
    false,
    "payments/*",
    "the service, any without it"
);
const OPERATION: Field = field!(
    "operation",
    PATTERN,
    false,
    "Charge*",
    "the operation, any without it"
);

/// Every list, in the order in which they are shown.
pub const LISTINGS: &[Listing] = &[
    Listing {
        name: "min_useful",
        doc: &[
            " What is too little for some services or operations, instead of analysis.min_useful.",
            " In `service` and `operation` a * stands for any text. Of several entries that match, the",
            " most specific counts: by its service first, then by its operation; a name without * comes",
            " before one with, and more characters before fewer.",
        ],
        fields: &[
            SERVICE,
            OPERATION,
            field!(
                "value",
                DURATION,
                true,
                "50ms",
                "the budget under which it cannot succeed"
            ),
        ],
        some_of: &["service", "operation"],
        one_of: &[],
    },
    Listing {
        name: "route",
        doc: &[" The budget of requests that bring none: their objective less a headroom."],
        fields: &[
            field!(
                "service",
                PATTERN,
                false,
                "shop/edge",
                "the service of the root"
            ),
            field!(
                "operation",
                PATTERN,
                false,
                "POST /orders*",
                "the operation of the root"
            ),
            field!(
                "slo",
                DURATION,
                true,
                "1s",
                "the time in which it is to answer"
            ),
            field!(
                "headroom",
                DURATION,
                false,
                "100ms",
                "what of that is kept back, nothing without it"
            ),
        ],
        some_of: &["service", "operation"],
        one_of: &[],
    },
    Listing {
        name: "detach",
        doc: &[" Spans that nobody waits for: they start a request of their own."],
        fields: &[
            field!("service", PATTERN, false, "shop/mailer", "the service"),
            field!("operation", PATTERN, false, "refresh *", "the span's name"),
        ],
        some_of: &["service", "operation"],
        one_of: &[],
    },
    Listing {
        name: "rule",
        doc: &[
            " Deadlines and timeouts of your own: an attribute's key, or a request header that is captured",
            " under any of the usual prefixes, how its values are written, and what they mean. A rule of",
            " your own stands in for a built-in one of the same key.",
            " `meaning` is remaining_in (left on arrival), remaining_out (passed on with a call), remaining",
            " (either, by the side of the span), timeout (what a caller will wait), deadline (an instant),",
            " local (own time), queue (wait before work), or another that `dwindle config check` names.",
        ],
        fields: &[
            field!("key", NAME, false, "acme.time_left", "the attribute's key"),
            field!(
                "header",
                NAME,
                false,
                "",
                "or the header's name: header = \"x-acme-time-left\""
            ),
            field!(
                "unit",
                UNIT,
                false,
                "ms",
                "what a plain number counts: s, ms, us or ns"
            ),
            field!(
                "grammar",
                GRAMMAR,
                false,
                "",
                "or how it is written: grammar = \"grpc_timeout\", \"go_duration\", \"rfc3339\" …"
            ),
            field!("meaning", MEANING, true, "remaining_in", "what it means"),
        ],
        some_of: &[],
        one_of: &[&["key", "header"], &["unit", "grammar"]],
    },
];
