//! What Dwindle is told: each setting resolved once, and from where its value came.
//!
//! The order is flag over environment over `dwindle.toml` over default. [`table`] defines every
//! setting once, [`listings`] what may be there many times; everything else follows from these.
//! [`resolve`] is a pure function over look-ups and a text, so that no test touches the process's
//! environment; [`load`] finds the file, too.

mod document;
mod example;
mod file;
mod home;
mod kind;
mod link;
mod listings;
mod policy;
mod sources;
mod table;

use std::path::Path;
use std::sync::Arc;

pub use example::{as_toml, example};
pub use kind::{
    Form, LogMode, Wanted, Written, parse_age, parse_bytes, parse_duration, parse_share,
};
pub use link::TraceUrl;
pub use listings::{Entry, Field, LISTINGS, Listing};
pub use sources::{Given, Lookup, Origin, Place, Problem, Problems, Set};
pub use table::{
    Analysis, Assembly, DEFINITIONS, Definition, Files, Findings, Limits, SECTIONS, Section, Serve,
    Store, Values, Web,
};

use crate::budget::Policy;
use document::Said;
use policy::Lists;
use sources::Sources;

/// Everything that Dwindle is told.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The single values.
    pub values: Values,
    /// Each value's text and where it came from, in the order of [`DEFINITIONS`].
    pub given: Vec<Given>,
    /// The entries of the lists, in the order of the file.
    pub entries: Vec<Entry>,
    /// The configuration file that was read, if any.
    pub file: Option<Arc<str>>,
    /// What of all that the analysis is told.
    pub policy: Policy,
}

/// Resolves every setting, with the configuration file that is named, or else found: `named`, by
/// the variable `DWINDLE_CONFIG`, `./dwindle.toml`, or `dwindle/dwindle.toml` in the user's folder
/// for configurations. A named file has to be there.
///
/// `flag` answers a setting's key (`grpc_addr`), `environment` a variable's name with the text
/// that was given, if any. An empty variable counts as not set. Everything that is wrong is told.
pub fn load(
    named: Option<&Path>,
    flag: Lookup<'_>,
    environment: Lookup<'_>,
) -> Result<Settings, Problems> {
    let mut settings = settled(file::load(named, environment), flag, environment)?;
    home::fill(&mut settings);
    Ok(settings)
}

/// Resolves every setting as [`load`] does, with a configuration file's name and text. What is in
/// the user's home stands as it was written, with its `~`.
pub fn resolve(
    file: Option<(&str, &str)>,
    flag: Lookup<'_>,
    environment: Lookup<'_>,
) -> Result<Settings, Problems> {
    let said = file.map_or_else(Said::default, |(name, text)| document::parse(name, text));
    settled(said, flag, environment)
}

fn settled(said: Said, flag: Lookup<'_>, environment: Lookup<'_>) -> Result<Settings, Problems> {
    let mut sources = Sources::new(flag, environment, said.values);
    let mut problems = said.problems;
    let values = table::values(&mut sources);
    let given = sources.all();
    let lists = Lists::build(&said.entries, &mut problems);
    // Those of the file in its order, then those of the environment and the flags.
    problems.sort_by_key(|problem| match &problem.origin {
        Origin::File(place) => (place.line, place.column),
        _ => (0, 0),
    });
    problems.append(&mut sources.problems);
    match values {
        Some(values) if problems.is_empty() => Ok(Settings {
            policy: lists.policy(&values),
            values,
            given,
            entries: said.entries,
            file: said.file,
        }),
        _ => Err(Problems(problems)),
    }
}

/// The process's environment, for [`load`].
#[expect(
    clippy::disallowed_methods,
    reason = "the wrapper that everyone else uses"
)]
pub fn environment(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

/// The names of the process's environment variables, for [`misspelt`].
pub fn environment_names() -> Vec<String> {
    let names = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
    names.collect()
}

/// Variables that set nothing and are near one that would, with that one. Others of the prefix
/// are not ours to judge: Kubernetes sets `DWINDLE_PORT` and more beside a service `dwindle`.
pub fn misspelt(names: &[String]) -> Vec<(String, String)> {
    let known: Vec<String> = DEFINITIONS.iter().map(Definition::variable).collect();
    let bare = |name: &str| name.strip_prefix("DWINDLE_").map(str::to_owned);
    let meant = |name: &String| {
        let own = bare(name).filter(|own| own != "CONFIG" && !known.contains(name))?;
        let key = own.to_lowercase();
        if let Some(definition) = DEFINITIONS.iter().find(|definition| definition.key == key) {
            return Some((name.clone(), definition.variable()));
        }
        let known = known.iter().filter_map(|known| bare(known));
        let known: Vec<String> = known.map(|known| known.to_lowercase()).collect();
        let near = near(&own, known.iter().map(String::as_str))?;
        Some((name.clone(), format!("DWINDLE_{}", near.to_uppercase())))
    };
    let mut found: Vec<(String, String)> = names.iter().filter_map(meant).collect();
    found.sort();
    found
}

/// The name that was probably meant.
fn near<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase().replace('-', "_");
    let close = names
        .map(|known| (strsim::jaro_winkler(&name, known), known))
        .filter(|(likeness, _)| *likeness > 0.8);
    close
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests;
