use super::*;

use std::collections::BTreeMap;

fn rules_of(places: &[&'static BTreeMap<String, Raw>]) -> Vec<(&'static str, &'static Raw)> {
    let all = places.iter().flat_map(|rules| rules.iter());
    all.map(|(id, raw)| (id.as_str(), raw)).collect()
}

#[test]
fn every_key_of_the_table_passes_the_quick_look_under_every_prefix() {
    let rules = Rules::builtin();
    for (id, raw) in rules_of(&[&FILE.attribute]) {
        for key in raw.names() {
            let hit = rules.find(key);
            assert!(
                matches!(hit, Some(Hit::Rule(index)) if rules.all[index].id == id),
                "{key}: {hit:?}"
            );
        }
    }
    for (id, raw) in rules_of(&[&FILE.header]) {
        for (name, prefix) in raw.names().flat_map(|name| {
            FILE.header_prefixes
                .iter()
                .map(move |prefix| (name, prefix))
        }) {
            for name in [name.to_owned(), name.replace('-', "_"), name.to_uppercase()] {
                let key = format!("{prefix}{name}");
                let never = FILE.never_bare.contains(&folded(Place::Header, &name));
                let is_ours = matches!(
                    rules.find(&key),
                    Some(Hit::Rule(index)) if rules.all[index].id == id
                );
                assert_eq!(is_ours, !(never && prefix.is_empty()), "{key}");
            }
        }
    }
}

#[test]
fn most_keys_of_other_people_are_turned_away_at_once() {
    let filter = &Rules::builtin().filter;
    let keys = [
        "http.request.method",
        "url.path",
        "url.scheme",
        "server.address",
        "server.port",
        "network.protocol.version",
        "user_agent.original",
        "http.response.status_code",
        "http.route",
        "client.address",
        "rpc.system",
        "rpc.service",
        "rpc.method",
        "rpc.grpc.status_code",
        "db.system.name",
        "db.namespace",
        "db.operation.name",
        "net.peer.name",
        "net.peer.port",
        "thread.id",
        "thread.name",
        "code.function.name",
        "messaging.system",
        "messaging.destination.name",
        "exception.type",
        "error.type",
        "exception.stacktrace",
        "span.kind",
        "otel.status_code",
        "internal.span.format",
    ];
    let through: Vec<&&str> = keys.iter().filter(|key| filter.may_hold(key)).collect();
    assert!(through.len() <= 3, "{through:?}");
}

#[test]
fn keys_are_unique_and_headers_are_normalised() {
    let mut seen = BTreeSet::new();
    for (id, raw) in rules_of(&[&FILE.attribute, &FILE.header]) {
        for key in raw.names() {
            let is_header = FILE.header.contains_key(id);
            assert!(seen.insert((is_header, key)), "{key}");
            assert!(!is_header || key == folded(Place::Header, key), "{key}");
        }
        assert!(raw.names().next().is_some() || id == FALLBACK, "{id}");
    }
    for never in &FILE.never_bare {
        assert!(
            FILE.header
                .values()
                .any(|raw| raw.names().any(|key| key == never)),
            "{never}"
        );
    }
}

#[test]
fn every_expression_is_one_and_holds_its_needle() {
    let texts = rules_of(&[&FILE.message, &FILE.db_text, &FILE.url_query]);
    for (id, raw) in &texts {
        let pattern = Regex::new(raw.pattern.as_deref().unwrap()).unwrap();
        assert!(!raw.needle().is_empty() && !raw.examples.is_empty(), "{id}");
        assert_eq!(
            raw.needle(),
            raw.needle().to_lowercase().replace("seconds=", "Seconds="),
            "{id}"
        );
        for text in &raw.examples {
            assert!(pattern.is_match(text), "{id}: {text}");
            assert!(
                text.to_lowercase().contains(&raw.needle().to_lowercase()),
                "{id}: {text}"
            );
        }
        for text in &raw.non_examples {
            assert!(!pattern.is_match(text), "{id}: {text}");
        }
        let is_read = raw.field != Field::Nothing;
        let has_value = pattern.capture_names().flatten().any(|name| name == "n");
        assert!(!is_read || (has_value && raw.grammar.is_some()), "{id}");
    }
    for (id, raw) in rules_of(&[&FILE.span_name, &FILE.event]) {
        let pattern = Regex::new(raw.pattern.as_deref().unwrap()).unwrap();
        let found = |texts: &[String]| texts.iter().filter(|text| pattern.is_match(text)).count();
        assert_eq!(
            (found(&raw.examples), found(&raw.non_examples)),
            (raw.examples.len(), 0),
            "{id}"
        );
        assert!(!raw.examples.is_empty(), "{id}");
    }
}

#[test]
fn every_rule_that_is_read_has_a_grammar_that_can_mean_its_field() {
    for (id, raw) in rules_of(&[&FILE.attribute, &FILE.header]) {
        if id == FALLBACK {
            continue;
        }
        match raw.grammar {
            Some(grammar) => assert!(fits(grammar, raw.field), "{id}"),
            None => assert_eq!(raw.field, Field::Nothing, "{id}"),
        }
    }
}

#[test]
fn keys_that_look_like_a_budget_are_suggested_and_others_are_not() {
    let raw = &FILE.attribute[FALLBACK];
    assert!(raw.examples.len() > 3 && raw.non_examples.len() > 3);
    for key in &raw.examples {
        assert!(Rules::suggests(key), "{key}");
    }
    for key in &raw.non_examples {
        assert!(!Rules::suggests(key), "{key}");
    }
}

fn custom(key: &str, place: Place, grammar: Grammar, field: Field) -> CustomRule {
    CustomRule {
        key: key.into(),
        place,
        grammar,
        field,
    }
}

#[test]
fn an_operators_rule_stands_in_for_a_built_in_one() {
    let own = custom(
        "X_Request_Timeout",
        Place::Header,
        Grammar::Seconds,
        Field::Remaining,
    );
    let rules = Rules::new(&[own], &[]).unwrap();
    let Some(Hit::Rule(index)) = rules.find("http.request.header.x-request-timeout") else {
        panic!("not found")
    };
    let rule = rules.rule(index).unwrap();
    assert_eq!((rule.grammar, rule.off), (Some(Grammar::Seconds), false));
    let builtin = Rules::builtin();
    let Some(Hit::Rule(index)) = builtin.find("http.request.header.x-request-timeout") else {
        panic!("not found")
    };
    assert!(builtin.rule(index).unwrap().off);
}

#[test]
fn rules_are_turned_on_by_their_ids() {
    let rules = Rules::new(&[], &["hdr.x-deadline-ms".into()]).unwrap();
    let on = |rules: &Rules| {
        let off: Vec<&str> = rules
            .all
            .iter()
            .filter(|r| r.off)
            .map(|r| r.id.as_str())
            .collect();
        !off.contains(&"hdr.x-deadline-ms")
    };
    assert!(on(&rules) && !on(&Rules::builtin()));
    assert_ne!(rules, Rules::builtin());
    assert_eq!(
        rules,
        Rules::new(&[], &["hdr.x-deadline-ms".into()]).unwrap()
    );
    assert_eq!(Rules::new(&[], &[]).unwrap(), Rules::builtin());
}

#[test]
fn what_cannot_be_a_rule_is_refused_with_a_hint() {
    let key = |key| custom(key, Place::Attribute, Grammar::Millis, Field::Timeout);
    let refused = |rules: &[CustomRule]| Rules::new(rules, &[]).unwrap_err().to_string();
    assert!(refused(&[key(" ")]).contains("needs the key"));
    assert!(refused(&[key("a"), key("a")]).contains("two rules for `a`"));
    let word = custom("a", Place::Attribute, Grammar::Word, Field::Timeout);
    assert_eq!(
        refused(&[word]),
        "`a`: values written as `word` cannot mean `timeout`"
    );
    let unknown = |id: &str| Rules::new(&[], &[id.into()]).unwrap_err().to_string();
    assert!(unknown("hdr.x-deadlin-ms").ends_with("did you mean `hdr.x-deadline-ms`?"));
    assert_eq!(unknown("zzz"), "no built-in rule has the id `zzz`");
}

#[test]
fn the_list_for_people_names_every_rule() {
    let listed = Rules::listed();
    assert!(
        listed
            .iter()
            .all(|rule| !rule.words.is_empty() && !rule.keys.is_empty())
    );
    let off: Vec<&str> = listed.iter().filter(|r| !r.on).map(|r| r.id).collect();
    assert!(
        off.contains(&"hdr.x-team-deadline-ms") && off.len() > 20,
        "{off:?}"
    );
    let axios = listed.iter().find(|rule| rule.id == "msg.axios").unwrap();
    assert_eq!(
        (axios.place, axios.keys[0]),
        ("message", "AxiosError: timeout of 250ms exceeded")
    );
}
