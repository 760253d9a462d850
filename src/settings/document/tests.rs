use super::*;

fn told(text: &str) -> Vec<String> {
    let problems = parse("d.toml", text).problems;
    problems.iter().map(Problem::to_string).collect()
}

#[test]
fn unknown_keys_suggest_the_near_one_or_where_they_belong() {
    let told = told(
        "quiet = \"3s\"\nenable-rules = []\n[serve]\ngprc_addr = \"x\"\nzzz = 1\n\
         [findings]\nmin_useful = \"1ms\"\n[finding]\n[[routes]]\n[[route]]\nsla = \"1s\"\n",
    );
    // Of one place each, in no particular order as long as the file is read.
    for wanted in [
        "d.toml:1:1: there is no `quiet`; it belongs below [assembly]",
        "d.toml:2:1: there is no `enable-rules`; did you mean `enable_rules` in [analysis]?",
        "d.toml:4:1: [serve] has no key `gprc_addr`; did you mean `grpc_addr`?",
        "d.toml:5:1: [serve] has no key `zzz`; it has grpc_addr, http_addr, web_addr, \
         no_samples, cors_origins, log",
        "d.toml:7:1: [findings] has no key `min_useful`; it belongs below [analysis]",
        "d.toml:8:2: there is no `finding`; did you mean `findings`?",
        "d.toml:9:3: there is no `routes`; did you mean `route`?",
        "d.toml:11:1: [[route]] has no key `sla`; did you mean `slo`?",
    ] {
        assert!(
            told.iter().any(|told| told == wanted),
            "{wanted}\n{told:#?}"
        );
    }
    assert_eq!(told.len(), 8, "{told:#?}");
}

#[test]
fn wrong_types_say_what_is_wanted() {
    for (text, wanted) in [
        (
            "[serve]\ngrpc_addr = 4317",
            "2:13: `grpc_addr` is an integer; it has to be a string: an address with a port such \
             as 127.0.0.1:4317",
        ),
        (
            "[serve]\nno_samples = \"yes\"",
            "2:14: `no_samples` is a string; it has to be true or false",
        ),
        (
            "[serve]\ncors_origins = [1]",
            "2:16: `cors_origins` is a list; it has to be a list of strings: a list of origins \
             such as https://shop.example, or `*` for any",
        ),
        (
            "[limits]\nmax_connections = 1.5",
            "2:19: `max_connections` is a number with a point; it has to be an integer: a count \
             from 1 to 1000000000",
        ),
        (
            "[limits]\nmax_message_bytes = 1",
            "2:21: `max_message_bytes`: `1` is not a size of 1kB or more such as 1048576, 64MiB \
             or 1GiB",
        ),
        (
            "[findings]\nseverity = { queud = \"error\" }",
            "2:12: `severity`: `queud=error` is not a list of rules: there is no rule `queud`; \
             did you mean `queued`?",
        ),
        (
            "serve = 1",
            "1:1: `serve` is an integer, not a table; write [serve]",
        ),
        ("[[serve]]", "1:3: there is one `serve` only; write [serve]"),
        (
            "[route]",
            "1:2: `route` may be there many times; write [[route]]",
        ),
        (
            "route = [1]",
            "1:10: an entry of `route` is an integer, not a table; write [[route]]",
        ),
    ] {
        assert_eq!(told(text), [format!("d.toml:{wanted}")]);
    }
}

#[test]
fn what_toml_allows_is_read() {
    let said = parse(
        "d.toml",
        "\u{feff}serve = { grpc_addr = 'a:1', \"http_addr\" = \"\"\"b:2\"\"\" }\r\n\
         limits.max_connections = 0x10\r\nlimits.max_requests = 1_000\r\n\
         [limits.nested]\r\n",
    );
    let value = |section, key| said.values.get(&(section, key)).map(|given| &*given.text);
    assert_eq!(value("serve", "grpc_addr"), Some("a:1"));
    assert_eq!(value("serve", "http_addr"), Some("b:2"));
    assert_eq!(value("limits", "max_connections"), Some("16"));
    assert_eq!(value("limits", "max_requests"), Some("1000"));
    assert_eq!(said.problems.len(), 1, "{:?}", said.problems);
    assert!(said.problems[0].reason.contains("no key `nested`"));
}

#[test]
fn broken_toml_is_told_where_it_breaks_line_by_line() {
    let broken = "[serve]\ngrpc_addr =\nlog = \"info\"\nquite = 1\n[limits]\nmax_requests = 1 2\n";
    let mut told = told(broken);
    told.sort();
    assert_eq!(told.len(), 2, "{told:#?}");
    for (told, line) in told.iter().zip([2, 6]) {
        assert!(
            told.starts_with(&format!("d.toml:{line}:")) && told.contains("this is not TOML"),
            "{told}"
        );
    }
}

#[test]
fn a_file_of_another_sort_is_told_once() {
    let json = "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": 3\n}\n";
    let once = told(json);
    assert_eq!(once.len(), 1, "{once:#?}");
    assert!(once[0].starts_with("d.toml:1:") && once[0].contains("no TOML file"));
    // A few mistakes are told one by one, however short the file.
    assert_eq!(told("a =\nb =\nc =\n").len(), 3);
}

#[test]
fn brackets_in_brackets_are_refused_and_overflow_nothing() {
    for text in [
        format!("a = {}", "[".repeat(200_000)),
        format!("a = {}", "{a=".repeat(200_000)),
        format!("[{}a]", "a.".repeat(200_000)),
        format!("{}a = 1", "a.".repeat(200_000)),
    ] {
        assert!(!told(&text).is_empty());
    }
}

#[test]
fn a_key_that_is_there_twice_is_told_with_all_else() {
    let told = told("[assembly]\nquiet = \"1s\"\nquiet = \"2s\"\nquite = 1\n[assembly]\n");
    assert!(
        told.iter()
            .any(|told| told.starts_with("d.toml:3:1: this key is here for the second time")),
        "{told:#?}"
    );
    assert!(
        told.iter().any(|told| told.contains("`quite`")),
        "{told:#?}"
    );
}

#[test]
fn columns_count_characters_and_long_values_are_cut() {
    let long = "x".repeat(10_000);
    let told = told(&format!("[serve]\n\"ünïcode\" = 1\nlog = \"a,,{long}=\"\n"));
    assert!(
        told.iter().any(|told| told.starts_with("d.toml:2:1: ")),
        "{told:#?}"
    );
    assert!(told.iter().all(|told| told.len() < 300), "{told:#?}");
}
