use std::collections::BTreeMap;
use std::time::Duration;

use super::*;
use crate::budget::{self, CustomRule, Field, Grammar, Rules, Share};
use crate::model::{Nanos, Rule, Severity};

fn with(file: &str, flags: &[(&str, &str)], env: &[(&str, &str)]) -> Result<Settings, Problems> {
    let map = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        let pairs = pairs.iter();
        pairs
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect()
    };
    let (flags, env) = (map(flags), map(env));
    resolve(
        Some(("dwindle.toml", file)),
        &|name| flags.get(name).cloned(),
        &|name| env.get(name).cloned(),
    )
}

fn of(file: &str) -> Settings {
    with(file, &[], &[]).unwrap()
}

fn wrong(file: &str) -> Vec<String> {
    let problems = with(file, &[], &[]).unwrap_err().0;
    problems.iter().map(Problem::to_string).collect()
}

#[test]
fn nothing_given_listens_on_loopback() {
    let values = resolve(None, &|_| None, &|_| None).unwrap().values;
    assert_eq!(*values.serve.grpc_addr, "127.0.0.1:4317");
    assert_eq!(*values.serve.http_addr, "127.0.0.1:4318");
    assert_eq!(*values.serve.web_addr, "127.0.0.1:4319");
    assert_eq!(*values.limits.max_message_bytes, 16 << 20);
    assert_eq!(*values.assembly.quiet, Duration::from_secs(2));
    assert_eq!(values.serve.cors_origins.value, Vec::<String>::new());
    assert!(!*values.serve.no_samples);
    assert!(!*values.store.memory_only);
    assert_eq!(*values.store.log_mode, LogMode::Sync);
    assert_eq!(*values.store.retain_for, Duration::from_hours(30 * 24));
    assert_eq!(*values.store.retain_bytes, 0);
    assert_eq!(values.serve.grpc_addr.origin, Origin::Default);
}

#[test]
fn the_defaults_are_those_of_the_modules_that_use_them() {
    let settings = resolve(None, &|_| None, &|_| None).unwrap();
    assert_eq!(settings.policy, Policy::default());
}

#[test]
fn a_flag_wins_over_the_environment_that_over_the_file_and_that_over_the_default() {
    let file = "[serve]\ngrpc_addr = \"f:1\"\nhttp_addr = \"f:2\"\nweb_addr = \"f:3\"\n";
    let env = [
        ("DWINDLE_GRPC_ADDR", "[::1]:1"),
        ("DWINDLE_HTTP_ADDR", "e:2"),
        ("DWINDLE_WEB_ADDR", "  "),
    ];
    let serve = with(file, &[("grpc_addr", "localhost:0")], &env)
        .unwrap()
        .values
        .serve;
    assert_eq!(*serve.grpc_addr, "localhost:0");
    assert_eq!(serve.grpc_addr.origin.to_string(), "--grpc-addr");
    assert_eq!(*serve.http_addr, "e:2");
    assert_eq!(serve.http_addr.origin.to_string(), "DWINDLE_HTTP_ADDR");
    assert_eq!(*serve.web_addr, "f:3");
    assert_eq!(serve.web_addr.origin.to_string(), "dwindle.toml:4:12");
    assert_eq!(serve.log.origin, Origin::Default);
}

#[test]
fn every_setting_has_a_name_a_variable_and_a_default_of_its_own() {
    let mut names = std::collections::BTreeSet::new();
    for definition in DEFINITIONS {
        assert!(names.insert(definition.name()), "{}", definition.name());
        assert!(names.insert(definition.variable()), "{}", definition.name());
        assert_eq!((definition.check)(definition.default), Ok(()));
        assert!(!definition.summary().is_empty());
        // Each is read from its variable: a text that no kind takes is told.
        let set = |name: &str| (name == definition.variable()).then(|| "\u{1},=".to_owned());
        let problems = resolve(None, &|_| None, &set).unwrap_err();
        assert_eq!(problems.0.len(), 1, "{problems}");
        let told = problems.to_string();
        assert!(told.starts_with(&definition.variable()), "{told}");
    }
}

#[test]
fn a_value_in_the_file_is_checked_even_where_the_environment_wins() {
    let env = [("DWINDLE_QUIET", "5s")];
    let problems = with("[assembly]\nquiet = \"soon\"", &[], &env).unwrap_err();
    assert_eq!(
        problems.to_string(),
        "dwindle.toml:2:9: `quiet`: `soon` is not a duration such as 500ms, 10s or 2m"
    );
    let settings = with("[assembly]\nquiet = \"1s\"", &[], &env).unwrap();
    assert_eq!(*settings.values.assembly.quiet, Duration::from_secs(5));
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let env = [("DWINDLE_LONGEST", "never")];
    let file =
        "[assembly]\nquite = \"1s\"\n[[route]]\nservice = \"a\"\nslo = \"1s\"\nheadroom = \"1s\"\n";
    let problems = with(file, &[("grpc_addr", "4317")], &env).unwrap_err();
    assert_eq!(
        problems.to_string(),
        "4 things are wrong with the configuration:
  dwindle.toml:2:1: [assembly] has no key `quite`; did you mean `quiet`?
  dwindle.toml:3:1: `headroom` has to be less than `slo`: the budget is what is between them
  --grpc-addr: `4317` is not an address with a port such as 127.0.0.1:4317
  DWINDLE_LONGEST: `never` is not a duration such as 500ms, 10s or 2m"
    );
}

#[test]
fn the_example_is_the_defaults_and_uncommented_it_is_valid() {
    let example = example();
    let defaults = resolve(None, &|_| None, &|_| None).unwrap();
    let commented = of(&example);
    assert_eq!(commented.values, defaults.values);
    assert_eq!(commented.policy, defaults.policy);
    assert_eq!(commented.entries, []);

    let uncommented: Vec<&str> = example
        .lines()
        .map(|line| match line.strip_prefix('#') {
            Some(setting) if !setting.starts_with(' ') => setting,
            _ => line,
        })
        .collect();
    let all = of(&uncommented.join("\n"));
    for (definition, given) in DEFINITIONS.iter().zip(&all.given) {
        assert!(
            matches!(given.origin, Origin::File(_)),
            "{} is not in the example",
            definition.name()
        );
    }
    let thresholds = |settings: &Settings| settings.policy.thresholds.clone();
    assert_eq!(thresholds(&all), thresholds(&defaults));
    let listed: Vec<&str> = all.entries.iter().map(|entry| entry.listing).collect();
    let mut named: Vec<&str> = LISTINGS.iter().map(|listing| listing.name).collect();
    named.retain(|name| !listed.contains(name));
    assert_eq!(named, Vec::<&str>::new(), "not in the example");
}

#[test]
fn the_tables_of_patterns_reach_the_policy() {
    let settings = of(r#"
        [analysis]
        min_useful = "30ms"
        max_spans = 1_000
        [findings]
        disabled = ["clock_skew"]
        severity = { queued = "error", not_propagated = "info" }
        queued = "12.5%"
        [[min_useful]]
        service = "payments/*"
        operation = "Charge*"
        value = "50ms"
        [[min_useful]]
        service = "payments/*"
        value = "40ms"
        [[route]]
        operation = "POST /orders"
        slo = "1s"
        headroom = "100ms"
        [[route]]
        service = "edge"
        slo = "2s"
        [[detach]]
        operation = "refresh *"
    "#);
    let policy = settings.policy;
    let min_useful = |service, operation| policy.min_useful_of(service, operation);
    assert_eq!(
        min_useful("payments/card", "ChargeAll"),
        Nanos::from_millis(50)
    );
    assert_eq!(
        min_useful("payments/card", "Refund"),
        Nanos::from_millis(40)
    );
    assert_eq!(min_useful("orders", "ChargeAll"), Nanos::from_millis(30));
    // A service that is named comes before an operation that is.
    let budget = |service, operation| policy.route_budget(service, operation);
    assert_eq!(
        budget("shop", "POST /orders"),
        Some(Nanos::from_millis(900))
    );
    assert_eq!(
        budget("edge", "POST /orders"),
        Some(Nanos::from_millis(2000))
    );
    assert_eq!(budget("shop", "GET /"), None);
    assert!(policy.is_detached("any", "refresh cache") && !policy.is_detached("any", "refresh"));
    assert_eq!(policy.max_spans, 1000);
    assert_eq!(policy.thresholds.queued, Share(1250));
    assert!(policy.disabled.contains(&Rule::ClockSkew));
    assert_eq!(policy.severity(Rule::Queued), Severity::Error);
    assert_eq!(policy.severity(Rule::NotPropagated), Severity::Info);
    assert_eq!(policy.severity(Rule::BudgetReset), Severity::Error);
}

#[test]
fn entries_that_say_too_little_or_too_much_are_told() {
    let wrong = wrong(
        "[[min_useful]]\nvalue = \"1s\"\n\
         [[route]]\nservice = \"a\"\n\
         [[detach]]\nservice = \"a\"\n[[detach]]\nservice = \"a\"\noperation = \"*\"\n",
    );
    assert_eq!(
        wrong,
        [
            "dwindle.toml:1:1: [[min_useful]] needs `service` or `operation`",
            "dwindle.toml:3:1: [[route]] needs `slo`: a duration such as 500ms, 10s or 2m",
            "dwindle.toml:7:1: [[detach]] of this service and operation is in line 5 already",
        ]
    );
}

#[test]
fn misspelt_variables_are_told_and_those_of_kubernetes_are_not() {
    let misspelt = |names: &[&str]| -> Vec<String> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let found = misspelt(&names).into_iter();
        found
            .map(|(name, meant)| format!("{name} {meant}"))
            .collect()
    };
    assert_eq!(
        misspelt(&[
            "DWINDLE_QUITE",
            "DWINDLE_MIN_USEFUL",
            "DWINDLE_GRPC_ADR",
            "PATH"
        ]),
        [
            "DWINDLE_GRPC_ADR DWINDLE_GRPC_ADDR",
            "DWINDLE_MIN_USEFUL DWINDLE_ANALYSIS_MIN_USEFUL",
            "DWINDLE_QUITE DWINDLE_QUIET"
        ]
    );
    let kubernetes = [
        "DWINDLE_PORT",
        "DWINDLE_SERVICE_HOST",
        "DWINDLE_SERVICE_PORT",
        "DWINDLE_SERVICE_PORT_OTLP_GRPC",
        "DWINDLE_PORT_4317_TCP",
        "DWINDLE_PORT_4317_TCP_ADDR",
        "DWINDLE_PORT_4317_TCP_PROTO",
        "DWINDLE_CONFIG",
        "DWINDLE_QUIET",
        "DWINDLE_CORPUS",
    ];
    assert_eq!(misspelt(&kubernetes), Vec::<String>::new());
}

mod any_text {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Pieces of files in any order: nothing panics, every problem has a place in the file,
        /// and what has no problem is what it was before.
        #[test]
        fn is_read_or_told(
            pieces in prop::collection::vec(
                prop_oneof![
                    prop::sample::select(DEFINITIONS).prop_map(|definition| {
                        let value = as_toml(definition.form.written, definition.default);
                        format!("{} = {value}\n", definition.key)
                    }),
                    prop::sample::select(SECTIONS).prop_map(|section| format!("[{}]\n", section.name)),
                    prop::sample::select(LISTINGS).prop_map(|listing| format!("[[{}]]\n", listing.name)),
                    "[a-z_]{1,12} = [0-9a-z\"\\[\\]{},.=\n']{0,12}\n",
                    "\\PC{0,12}",
                ],
                0..12,
            )
        ) {
            let text = pieces.concat();
            match with(&text, &[], &[]) {
                Ok(settings) => prop_assert_eq!(settings.given.len(), DEFINITIONS.len()),
                Err(Problems(problems)) => {
                    prop_assert!(!problems.is_empty());
                    let lines = text.split('\n').count();
                    for problem in problems {
                        let Origin::File(place) = &problem.origin else {
                            panic!("{problem}");
                        };
                        prop_assert!((1..=lines).contains(&place.line), "{}", problem);
                        prop_assert!(place.column > 0, "{}", problem);
                    }
                }
            }
        }
    }
}

#[test]
fn rules_of_ones_own_reach_the_policy() {
    let settings = of(r#"
        [[rule]]
        key = "acme.time_left"
        unit = "ms"
        meaning = "remaining-in"
        [[rule]]
        header = "X-Acme-Timeout"
        grammar = "go-duration"
        meaning = "timeout"
        [analysis]
        enable_rules = ["app.deadline.at"]
    "#);
    let rule = |key: &str, place, grammar, field| CustomRule {
        key: key.into(),
        place,
        grammar,
        field,
    };
    let custom = [
        rule(
            "acme.time_left",
            budget::Place::Attribute,
            Grammar::Millis,
            Field::RemainingIn,
        ),
        rule(
            "X-Acme-Timeout",
            budget::Place::Header,
            Grammar::GoDuration,
            Field::Timeout,
        ),
    ];
    let rules = Rules::new(&custom, &["app.deadline.at".into()]).unwrap();
    assert_eq!(settings.policy.rules, rules);
    assert_ne!(settings.policy.rules, Rules::builtin());
}

#[test]
fn rules_that_mean_nothing_are_told() {
    assert_eq!(
        wrong(
            "[[rule]]\nkey = \"a\"\nheader = \"b\"\nunit = \"ms\"\nmeaning = \"deadline\"\n\
             [[rule]]\nkey = \"a\"\n\
             [[rule]]\nkey = \"a\"\nunit = \"min\"\ngrammar = \"go_durations\"\nmeaning = \"time\"\n\
             [[rule]]\nkey = \"a\"\nunit = \"ms\"\nmeaning = \"outcome\"\n\
             [[rule]]\nkey = \"b\"\nunit = \"ms\"\nmeaning = \"timeout\"\n\
             [[rule]]\nkey = \"b\"\nunit = \"s\"\nmeaning = \"timeout\"\n\
             [analysis]\nenable_rules = [\"app.deadline.att\"]\n"
        ),
        [
            "dwindle.toml:1:1: [[rule]] has `key` and `header`; one of them is enough",
            "dwindle.toml:6:1: [[rule]] needs `meaning`: a meaning such as remaining_in, timeout or deadline",
            "dwindle.toml:6:1: [[rule]] needs `unit` or `grammar`",
            "dwindle.toml:10:8: `unit`: `min` is not a unit; there are s, ms, us, ns",
            "dwindle.toml:11:11: `grammar`: `go_durations` is not a grammar; did you mean `go_duration`?",
            "dwindle.toml:12:11: `meaning`: `time` is not a meaning; did you mean `timeout`?",
            "dwindle.toml:13:1: `a`: values written as `millis` cannot mean `outcome`",
            "dwindle.toml:21:1: two rules for `b`: one key has one meaning",
            "dwindle.toml:26:16: `enable_rules`: `app.deadline.att` is not a list of built-in rules: no built-in rule has the id `app.deadline.att`; did you mean `app.deadline.at`?",
        ]
    );
}
