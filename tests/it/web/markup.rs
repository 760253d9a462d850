//! A strict reader of the pages' markup. It knows just the HTML that the templates write, and
//! refuses everything that a browser would repair in silence.

use std::collections::BTreeSet;

/// An element with what is in it.
#[derive(Debug, Default)]
pub(crate) struct Element {
    pub(crate) tag: String,
    pub(crate) attributes: Vec<(String, String)>,
    pub(crate) children: Vec<Node>,
}

#[derive(Debug)]
pub(crate) enum Node {
    Element(Element),
    Text(String),
}

const VOID: [&str; 4] = ["meta", "link", "input", "br"];

impl Element {
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn has_class(&self, class: &str) -> bool {
        self.attribute("class")
            .is_some_and(|all| all.split(' ').any(|one| one == class))
    }

    /// Every element in document order, this one first.
    pub(crate) fn all(&self) -> Vec<&Element> {
        let mut out = vec![self];
        for child in &self.children {
            if let Node::Element(element) = child {
                out.extend(element.all());
            }
        }
        out
    }

    pub(crate) fn with_class(&self, class: &str) -> Vec<&Element> {
        self.all()
            .into_iter()
            .filter(|element| element.has_class(class))
            .collect()
    }

    pub(crate) fn with_tag(&self, tag: &str) -> Vec<&Element> {
        self.all()
            .into_iter()
            .filter(|element| element.tag == tag)
            .collect()
    }

    /// The text, without what is in `svg` and without what only screen readers and narrow windows
    /// get; white space as one space.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        self.gather(&mut out);
        out.split([' ', '\n'])
            .filter(|word| !word.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    }

    fn gather(&self, out: &mut String) {
        for child in &self.children {
            match child {
                Node::Text(text) => out.push_str(text),
                Node::Element(inner)
                    if inner.tag == "svg" || inner.has_class("sr") || inner.has_class("lb") => {}
                Node::Element(inner) => inner.gather(out),
            }
        }
    }
}

/// Reads a page; the error says what is wrong and what stands there.
pub(crate) fn read(page: &str) -> Result<Element, String> {
    let rest = page.strip_prefix("<!doctype html>").ok_or("no doctype")?;
    let mut open: Vec<Element> = vec![Element::default()];
    let mut at = rest;
    while !at.is_empty() {
        let Some(begin) = at.find('<') else {
            add_text(&mut open, at)?;
            break;
        };
        let (text, tag) = at.split_at(begin);
        add_text(&mut open, text)?;
        if let Some(closing) = tag.strip_prefix("</") {
            let (name, after) = closing.split_once('>').ok_or("a closing tag without end")?;
            let element = open.pop().ok_or("nothing to close")?;
            if element.tag != name {
                return Err(format!("</{name}> closes <{}>", element.tag));
            }
            open.last_mut()
                .ok_or("closed too much")?
                .children
                .push(Node::Element(element));
            at = after;
            continue;
        }
        let (element, closed, after) = start_tag(tag)?;
        if closed || VOID.contains(&element.tag.as_str()) {
            open.last_mut()
                .ok_or("no root")?
                .children
                .push(Node::Element(element));
        } else {
            open.push(element);
        }
        at = after;
    }
    match open.len() {
        1 => open.pop().ok_or_else(String::new),
        _ => Err(format!(
            "<{}> is not closed",
            open.last().map_or("", |last| &last.tag)
        )),
    }
}

fn start_tag(tag: &str) -> Result<(Element, bool, &str), String> {
    let shown: String = tag.chars().take(60).collect();
    let rest = tag.strip_prefix('<').ok_or("no tag")?;
    let end = rest
        .find([' ', '>', '/'])
        .ok_or_else(|| format!("no end: {shown}"))?;
    let (name, mut rest) = rest.split_at(end);
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric()) {
        return Err(format!("no tag: {shown}"));
    }
    let mut element = Element {
        tag: name.to_owned(),
        ..Element::default()
    };
    loop {
        rest = rest.trim_start_matches(' ');
        if let Some(after) = rest.strip_prefix("/>") {
            return Ok((element, true, after));
        }
        if let Some(after) = rest.strip_prefix('>') {
            return Ok((element, false, after));
        }
        let end = rest
            .find(['=', ' ', '>'])
            .ok_or_else(|| format!("no end: {shown}"))?;
        let (key, after) = rest.split_at(end);
        let (value, after) = match after.strip_prefix("=\"") {
            Some(quoted) => quoted
                .split_once('"')
                .ok_or_else(|| format!("no quote: {shown}"))?,
            None if after.starts_with('=') => return Err(format!("`{key}` not quoted: {shown}")),
            None => ("", after),
        };
        if element.attributes.iter().any(|(known, _)| known == key) {
            return Err(format!("`{key}` twice: {shown}"));
        }
        element.attributes.push((key.to_owned(), unescape(value)?));
        rest = after;
    }
}

fn add_text(open: &mut [Element], text: &str) -> Result<(), String> {
    if !text.is_empty() {
        let text = unescape(text)?;
        open.last_mut()
            .ok_or("no root")?
            .children
            .push(Node::Text(text));
    }
    Ok(())
}

fn unescape(text: &str) -> Result<String, String> {
    if text.contains('<') {
        return Err(format!("a bare `<` in {text}"));
    }
    let mut out = String::new();
    let mut parts = text.split('&');
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let (entity, after) = part
            .split_once(';')
            .ok_or_else(|| format!("a bare & in {text}"))?;
        out.push(match entity {
            "amp" | "#38" => '&',
            "lt" | "#60" => '<',
            "gt" | "#62" => '>',
            "quot" | "#34" => '"',
            "#39" => '\'',
            other => return Err(format!("&{other}; in {text}")),
        });
        out.push_str(after);
    }
    Ok(out)
}

/// What is wrong with a page that can be read, by the rules of the house.
pub(crate) fn faults(page: &Element) -> Vec<String> {
    let mut out = Vec::new();
    let all = page.all();
    let mut ids = BTreeSet::new();
    let mut regions = BTreeSet::new();
    for element in &all {
        let tag = &element.tag;
        for (key, _) in &element.attributes {
            if key == "style" || key.starts_with("on") {
                out.push(format!("<{tag}> has `{key}`"));
            }
        }
        if let Some(id) = element.attribute("id")
            && !ids.insert(id)
        {
            out.push(format!("id `{id}` twice"));
        }
        if element.attribute("role") == Some("region") || *tag == "section" {
            let label = element.attribute("aria-label");
            if let Some(label) = label.filter(|label| !regions.insert((*label).to_owned())) {
                out.push(format!("two regions are called `{label}`"));
            }
        }
        if *tag == "summary" {
            for inner in element.all() {
                if ["a", "button", "input"].contains(&inner.tag.as_str()) {
                    out.push(format!("<{}> in a summary", inner.tag));
                }
            }
        }
        let inside_svg = element.attribute("role") == Some("img");
        if inside_svg && element.attribute("aria-label").is_none_or(str::is_empty) {
            out.push(format!("<{tag}> is an image without a label"));
        }
        if *tag == "script" && (element.attribute("src").is_none() || !element.children.is_empty())
        {
            out.push("an inline script".to_owned());
        }
        for link in ["href", "src", "action"] {
            if let Some(to) = element.attribute(link)
                && !(to.starts_with('/') || to.starts_with('#'))
            {
                out.push(format!("<{tag}> points elsewhere: {to}"));
            }
        }
    }
    for (tag, count) in [
        ("h1", 1),
        ("main", 1),
        ("nav", 1),
        ("title", 1),
        ("style", 0),
    ] {
        let found = page.with_tag(tag).len();
        if found != count {
            out.push(format!("{found} <{tag}>"));
        }
    }
    if page
        .with_class("skip")
        .first()
        .and_then(|skip| skip.attribute("href"))
        != Some("#main")
    {
        out.push("no skip link".to_owned());
    }
    out
}

#[test]
fn what_a_browser_would_repair_is_refused() {
    let broken = |body: &str| read(&format!("<!doctype html><p>{body}</p>")).unwrap_err();
    assert!(broken("<b>x</i>").contains("closes"));
    assert!(broken("<b>x").contains("closes"));
    assert!(broken("a < b").contains("no tag"));
    assert!(broken("a & b").contains("bare &"));
    assert!(broken("<a href=x>y</a>").contains("not quoted"));
    assert!(broken("<a id=\"1\" id=\"2\">y</a>").contains("twice"));
    assert!(read("<p></p>").is_err());
    let page =
        read("<!doctype html><p id=\"1\" style=\"x\">a &amp; b</p><p id=\"1\"></p>").unwrap();
    assert_eq!(page.with_tag("p")[0].text(), "a & b");
    let faults = faults(&page);
    for fault in ["<p> has `style`", "id `1` twice", "0 <h1>", "no skip link"] {
        assert!(
            faults.iter().any(|found| found == fault),
            "{fault}: {faults:?}"
        );
    }
}
