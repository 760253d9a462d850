//! The word that was meant.

use super::Field;

/// The known word that is nearest to `word`, if one is near enough.
pub(in crate::query) fn word<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // A third of a word may be wrong; in a long text nothing is near.
    if word.len() > 64 {
        return None;
    }
    let word = word.to_ascii_lowercase().replace('-', "_");
    let allowed = (word.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|one| (strsim::damerau_levenshtein(&word, one), one))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, one)| one)
}

/// What to write instead of a field that does not exist.
pub(super) fn field(name: &str, fields: &'static [Field]) -> Option<String> {
    let lower = name.to_ascii_lowercase();
    let known = |name: &str| fields.iter().find(|field| field.name == name);
    if let Some(field) = lower.strip_suffix("_ms").and_then(known) {
        return Some(format!(
            "write `{}` and give the value a unit: `200ms`",
            field.name
        ));
    }
    let names = || fields.iter().map(|field| field.name);
    let last = |name: &'static str| name.rsplit('.').next().unwrap_or(name);
    let of_groups: Vec<&str> = names().filter(|name| last(name) == lower).collect();
    match of_groups.as_slice() {
        [] => {}
        [one] => return Some(format!("is it `{one}`?")),
        [init @ .., end] => {
            let init = init.join("`, `");
            return Some(format!("is it `{init}` or `{end}`?"));
        }
    }
    word(&lower, names()).map(|name| format!("is it `{name}`?"))
}
