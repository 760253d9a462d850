//! `dwindle.toml` with everything in it, commented out: what `dwindle config example` prints.
//!
//! A line of words begins with `# `, a line to be uncommented with `#` alone.

use super::kind::Written;
use super::listings::{LISTINGS, Listing};
use super::table::{DEFINITIONS, SECTIONS};
use crate::budget::Rules;

const HEAD: &str = "\
# The configuration of Dwindle: every setting with its default, commented out.
# Uncomment what you change. A flag wins over an environment variable, that over this file.
#
# This file is read from where --config or DWINDLE_CONFIG says, else from ./dwindle.toml, else
# from ~/.config/dwindle/dwindle.toml. `dwindle config check FILE` tells what is wrong with it,
# `dwindle config show` what counts and why.
";

/// The example.
pub fn example() -> String {
    let mut text = HEAD.to_owned();
    for section in SECTIONS {
        text.push('\n');
        words(&mut text, section.doc);
        line(&mut text, &format!("[{}]", section.name));
        let own = DEFINITIONS.iter();
        for setting in own.filter(|setting| setting.section == section.name) {
            words(&mut text, setting.doc);
            if setting.key == "enable_rules" {
                off(&mut text);
            }
            let value = as_toml(setting.form.written, setting.default);
            line(&mut text, &format!("#{} = {value}", setting.key));
        }
    }
    for listing in LISTINGS {
        text.push('\n');
        words(&mut text, listing.doc);
        entry(&mut text, listing);
    }
    text
}

/// The built-in rules that can be turned on.
fn off(text: &mut String) {
    let listed = Rules::listed();
    for rule in listed
        .iter()
        .filter(|rule| !rule.on && rule.grammar.is_some())
    {
        let keys = rule.keys.join(", ");
        line(text, &format!("#   {}: {keys} ({})", rule.id, rule.words));
    }
}

fn entry(text: &mut String, listing: &Listing) {
    line(text, &format!("#[[{}]]", listing.name));
    for field in listing.fields {
        if field.example.is_empty() {
            line(text, &format!("# {}", field.doc));
            continue;
        }
        let value = as_toml(field.form.written, field.example);
        line(text, &format!("#{} = {value}  # {}", field.key, field.doc));
    }
}

fn words(text: &mut String, lines: &[&str]) {
    for words in lines {
        line(text, &format!("#{words}"));
    }
}

fn line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// A value's text as TOML writes it.
pub fn as_toml(written: Written, text: &str) -> String {
    let text = text.trim();
    match written {
        Written::TextOrInteger if text.bytes().all(|byte| byte.is_ascii_digit()) => text.to_owned(),
        Written::Text | Written::TextOrInteger => quoted(text),
        Written::Integer => text.to_owned(),
        Written::Switch => {
            let on = matches!(text.to_ascii_lowercase().as_str(), "true" | "1" | "yes");
            on.to_string()
        }
        Written::List => {
            let items: Vec<String> = items(text).map(quoted).collect();
            format!("[{}]", items.join(", "))
        }
        Written::Table => {
            let pairs: Vec<String> = items(text)
                .filter_map(|pair| pair.split_once('='))
                .map(|(key, value)| format!("{} = {}", key.trim(), quoted(value.trim())))
                .collect();
            match pairs.as_slice() {
                [] => "{}".to_owned(),
                pairs => format!("{{ {} }}", pairs.join(", ")),
            }
        }
    }
}

fn items(text: &str) -> impl Iterator<Item = &str> {
    text.split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
