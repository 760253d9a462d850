//! The parser by tables, the printer by a property.

use proptest::prelude::*;

use super::*;
use crate::query::fixtures::{chain, fan_out};
use crate::store::tables::Type;

fn parsed(text: &str) -> Filter {
    Filter::parse_at(text, UnixNanos(1_791_363_600_000_000_000))
        .unwrap_or_else(|error| panic!("{text}: {error} at {:?}", error.at))
}

/// The fault that is marked, and what is said of it.
fn refused(text: &str) -> (String, String) {
    let error = Filter::parse(text).unwrap_err();
    let (_, fault, _) = error.parts(text);
    (fault.to_owned(), error.to_string())
}

#[test]
fn and_binds_tighter_than_or_and_not_tightest() {
    let same = |a: &str, b: &str| assert_eq!(parsed(a), parsed(b), "{a}  vs  {b}");
    let differ = |a: &str, b: &str| assert_ne!(parsed(a), parsed(b), "{a}  vs  {b}");
    let [a, b, c] = ["spans=1", "revision=2", "complete=true"];
    same(
        &format!("{a} and {b} or {c}"),
        &format!("({a} and {b}) or {c}"),
    );
    same(
        &format!("{c} or {a} and {b}"),
        &format!("{c} or ({a} and {b})"),
    );
    differ(
        &format!("{a} and {b} or {c}"),
        &format!("{a} and ({b} or {c})"),
    );
    same(&format!("not {a} and {b}"), &format!("(not {a}) and {b}"));
    differ(&format!("not {a} and {b}"), &format!("not ({a} and {b})"));
    same(&format!("not not {a}"), &format!("not (not ({a}))"));
    same(
        &format!("{a} or ({b} or {c})"),
        &format!("({a} or {b}) or {c}"),
    );
    same(&format!("{a} AND Not {b}"), &format!("{a} and not {b}"));
}

#[test]
fn filters_print_as_they_are_best_written() {
    for (text, printed) in [
        (
            "outcome=missed and culprit.service=pricing and wasted>200ms or hop.verdict=expired_on_arrival",
            "outcome=missed and culprit.service=pricing and wasted > 200ms or hop.verdict=expired_on_arrival",
        ),
        (
            "(spans > 1 or spans<3)and not(complete=true)",
            "(spans > 1 or spans < 3) and not complete=true",
        ),
        (
            "service='a b' and operation=\"and\"",
            "service=\"a b\" and operation=\"and\"",
        ),
        (
            r#"operation="say \"\\d\" '""#,
            r#"operation="say \"\\d\" '""#,
        ),
        (
            r#"operation ~ "\d+ \\ \" x""#,
            r#"operation ~ "\\d+ \\ \" x""#,
        ),
        ("used >= 90.50%", "used >= 90.5%"),
        ("elapsed = 1500ms", "elapsed=1500ms"),
        (
            "elapsed = 120s or elapsed < 0s",
            "elapsed=120s or elapsed < 0ms",
        ),
        ("hop.remaining_in < -1.5us", "hop.remaining_in < -1500ns"),
        ("trace_id=4BF9", "trace_id=4bf9"),
        ("start > -15m", "start > 2026-10-07T08:45:00.000000000Z"),
        (
            "budget=null and culprit!=null",
            "budget=null and culprit!=null",
        ),
        ("service=\"null\"", "service=\"null\""),
        ("call.waited!=false", "call.waited!=false"),
        (
            "not finding ( finding.rule=queued and(service=a or not service=b) ) and spans>1",
            "not finding(rule=queued and (service=a or not service=b)) and spans > 1",
        ),
        ("service=caf\u{e9}/x:1", "service=caf\u{e9}/x:1"),
    ] {
        assert_eq!(parsed(text).to_string(), printed);
        assert_eq!(parsed(printed).to_string(), printed);
    }
}

/// A filter, what of it is marked, and what is said.
const FAULTS: &[(&str, &str, &str)] = &[
    (
        "outcome=mised and wasted > 1ms",
        "mised",
        "`outcome` is never `mised`; is it `missed`?",
    ),
    (
        "outcome=purple",
        "purple",
        "`outcome` is never `purple`; there are missed, failed, cancelled, no_budget, met",
    ),
    (
        "wasted > 200",
        "200",
        "`wasted` is a duration and `200` has no unit; write `200ms`",
    ),
    (
        "wasted > soon",
        "soon",
        "`soon` is no duration; write a number and ns, us, ms, s, m, h or d: `200ms`, `1.5s`",
    ),
    (
        "wasted_ms > 200",
        "wasted_ms",
        "there is no field `wasted_ms`; write `wasted` and give the value a unit: `200ms`",
    ),
    (
        "servise=a",
        "servise",
        "there is no field `servise`; is it `service`?",
    ),
    (
        "verdict=ok",
        "verdict",
        "there is no field `verdict`; is it `surfaced.verdict`, `hop.verdict` or `call.verdict`?",
    ),
    (
        "xyz=1",
        "xyz",
        "there is no field `xyz`; `dwindle filter` lists them",
    ),
    (
        "used > 90",
        "90",
        "`used` is compared with a percentage such as 90%; write `90%`",
    ),
    (
        "spans = 3ms",
        "3ms",
        "`spans` is a whole number; `3ms` is none",
    ),
    (
        "spans ~ 3",
        "~",
        "`spans` cannot be compared with `~`: it is of type number; there are = != < <= > >=",
    ),
    (
        "service < a",
        "<",
        "`service` cannot be compared with `<`: it is of type text; there are = != ~",
    ),
    ("complete=yes", "yes", "`complete` is true or false"),
    (
        "trace_id=xyz",
        "xyz",
        "an id is compared with 1 to 32 hex digits: its beginning",
    ),
    ("elapsed=null", "null", "`elapsed` is never null"),
    (
        "budget<null",
        "null",
        "null has no order; write `=null` or `!=null`",
    ),
    (
        "culprit=pricing",
        "pricing",
        "`culprit` can only be null or not; write `culprit=null` or `culprit!=null`",
    ),
    (
        "start > -15m",
        "-15m",
        "`-15m` counts back from now, and here there is no clock; write the instant itself",
    ),
    (
        "start > soon",
        "soon",
        "`soon` is no instant; write 2026-10-07T09:00:00Z, 2026-10-07 (UTC), or a time ago like -15m",
    ),
    (
        "service ~ \"(\"",
        "\"(\"",
        "this is no regular expression: unclosed group",
    ),
    (
        "",
        "",
        "there is no condition; for example `outcome=missed`",
    ),
    (
        "  ",
        "",
        "there is no condition; for example `outcome=missed`",
    ),
    (
        "spans=1 and ",
        "",
        "a condition is missing at the end; for example `outcome=missed`",
    ),
    (
        "spans",
        "spans",
        "`spans` is compared with nothing; for example `spans=3`",
    ),
    (
        "spans=",
        "",
        "a value for `spans` is missing; for example `spans=3`",
    ),
    (
        "spans= and spans=1",
        "and",
        "a value for `spans` is missing; quote it if it is the value",
    ),
    ("spans==1", "=", "a value for `spans` is missing"),
    (
        "spans 1",
        "1",
        "after `spans` one of = != < <= > >= is needed",
    ),
    (
        "spans=1 spans=2",
        "spans",
        "`and` or `or` is needed before this; quote a text that has blanks",
    ),
    (
        "operation=POST /x",
        "/x",
        "`and` or `or` is needed before this; quote a text that has blanks",
    ),
    ("(spans=1", "(", "this parenthesis is not closed"),
    (
        "finding(rule=queued",
        "finding",
        "this parenthesis is not closed",
    ),
    (
        "findings(rule=queued)",
        "findings",
        "`findings( )` is none; there are hop( ) call( ) ledger( ) finding( )",
    ),
    (
        "hop(service=a and wasted > 1ms and outcome=missed)",
        "outcome",
        "`outcome` is not of one hop; put it outside of the parentheses of hop( )",
    ),
    (
        "hop(service=a and call(to=b))",
        "call",
        "these do not stand inside one another",
    ),
    ("spans=1)", ")", "this parenthesis was never opened"),
    (
        "\"spans\"=1",
        "\"spans\"",
        "a field is needed here, not a text; for example `service=pricing`",
    ),
    ("service=\"a", "\"a", "this quotation mark is not closed"),
    (
        "service !~ a",
        "!~",
        "there is no `!~`; write `not` before the field and `~` behind it",
    ),
    (
        "!complete=true",
        "!",
        "`!` means nothing here; write `!=` for unequal, `not` for the contrary",
    ),
    (
        "spans=1 && spans=2",
        "&&",
        "`and` or `or` is needed before this; quote a text that has blanks",
    ),
    (
        "and spans=1",
        "and",
        "a condition is needed here; for example `outcome=missed`",
    ),
];

#[test]
fn what_is_wrong_is_marked_and_explained() {
    for (text, fault, message) in FAULTS {
        let wanted = ((*fault).to_owned(), (*message).to_owned());
        assert_eq!(refused(text), wanted, "{text}");
    }
}

#[test]
fn bombs_are_refused() {
    let deep = "parentheses and `not` go at most 64 deep";
    assert_eq!(
        refused(&"(".repeat(10_000)),
        ("(".to_owned(), deep.to_owned())
    );
    assert_eq!(refused(&"not ".repeat(2_000)).1, deep);
    let most = format!("{}spans=1{}", "(".repeat(64), ")".repeat(64));
    assert_eq!(parsed(&most).to_string(), "spans=1");
    let long = format!("spans=1{}", " or spans=1".repeat(2_000));
    assert!(refused(&long).1.contains("at most 16384 bytes"));
    let wide = format!("spans=1{}", " or spans=1".repeat(1_000));
    assert_eq!(parsed(&wide).to_string(), wide);
    let patterns = vec!["service ~ a"; 17].join(" or ");
    assert_eq!(refused(&patterns).1, "a filter has at most 16 patterns");
    let message = refused(r#"service ~ "(\\w{90}){90}""#).1;
    assert_eq!(message, "this pattern is too large");
    assert!(
        refused(&format!("service ~ \"{}\"", "(a".repeat(400)))
            .1
            .contains("expression")
    );
}

#[test]
fn the_table_has_each_field_once_with_a_meaning() {
    let mut names: Vec<&str> = fields().iter().map(|field| field.name).collect();
    names.sort_unstable();
    let all = names.len();
    names.dedup();
    assert_eq!(names.len(), all);
    for one in fields() {
        assert!(
            !one.doc.is_empty() && field(one.name).is_some(),
            "{}",
            one.name
        );
        assert!(lex::is_bare(one.name), "{}", one.name);
    }
    for (example, _) in SYNTAX {
        parsed(example);
    }
}

#[test]
fn every_field_has_a_column_of_its_type() {
    for field in fields() {
        let columns = lazy::table(field).columns().iter();
        let column = columns.clone().find(|column| column.name == field.column);
        let column = column.unwrap_or_else(|| panic!("`{}` has no column", field.name));
        let fits = match field.kind {
            Kind::Id => column.kind == Type::Id,
            Kind::Text | Kind::Word(_) if field.of() == Of::Note => column.kind == Type::Json,
            Kind::Text | Kind::Word(_) | Kind::Object => column.kind == Type::Text,
            Kind::Time => column.kind == Type::Ms,
            Kind::Count => matches!(column.kind, Type::Count | Type::Number),
            Kind::Share => matches!(column.kind, Type::Share | Type::Ms),
            Kind::Flag => column.kind == Type::Flag,
            Kind::Instant => column.kind == Type::Time,
        };
        assert!(fits, "`{}` in `{}`", field.name, column.name);
        let is_notes = field.of() == Of::Note;
        assert!(
            is_notes || column.nullable == field.nullable,
            "{}",
            field.name
        );
    }
}

#[test]
fn comparisons_of_the_start_make_a_window() {
    let at = |text: &str| instant(text, None).unwrap();
    let [one, two] = ["2026-10-07T09:00:00Z", "2026-10-07T10:00:00Z"].map(at);
    for (text, window) in [
        ("start >= 2026-10-07T09:00Z", (Some(one), None)),
        (
            "start > 2026-10-07T09:00Z and spans > 1 and start < 2026-10-07T10:00Z",
            (Some(one), Some(two)),
        ),
        (
            "start > 2026-10-07T09:00Z and start > 2026-10-07T10:00Z",
            (Some(two), None),
        ),
        ("start = 2026-10-07T09:00Z", (Some(one), Some(one))),
        ("start != 2026-10-07T09:00Z", (None, None)),
        ("not start > 2026-10-07T09:00Z", (None, None)),
        ("start > 2026-10-07T09:00Z or spans > 1", (None, None)),
        ("hop.start > 1ms", (None, None)),
    ] {
        assert_eq!(parsed(text).window(), window, "{text}");
    }
}

#[test]
fn the_chain_is_what_it_is() {
    let (chain, mut fan_out) = (chain(), fan_out());
    fan_out.trace_id = crate::model::TraceId([0x44; 16]);
    for (text, of_chain, of_fan_out) in [
        ("outcome=missed", true, true),
        ("culprit.service=pricing", true, false),
        ("culprit.service!=pricing", false, true),
        (
            "culprit.consumed=497ms and culprit.share=49.7%",
            true,
            false,
        ),
        ("culprit.to=null", true, false),
        ("culprit.typical!=null and culprit!=null", true, true),
        ("hop.service=orders and hop.service=pricing", true, false),
        ("not hop.service=orders", false, true),
        (
            "service ~ ^cli and operation ~ '(?i)^post /ord'",
            true,
            false,
        ),
        ("used >= 100% and used < 100.1%", true, false),
        (
            "start < 2026-10-07T09:15:00.001Z and start >= 2026-10-07T09:15Z",
            true,
            true,
        ),
        ("ledger.part=local and ledger.time > 490ms", true, true),
        (
            "finding.rule=not_propagated and finding.severity=error",
            true,
            false,
        ),
        ("trace_id = CEC3", true, false),
        ("trace_id != cec3", false, true),
        ("call.timeout=1s", true, false),
        ("budget=null or budget > 1s", false, true),
    ] {
        let filter = parsed(text);
        assert_eq!(
            (filter.matches(&chain), filter.matches(&fan_out)),
            (of_chain, of_fan_out),
            "{text}"
        );
    }
}

/// Any comparison that the table allows, as text.
fn test() -> impl Strategy<Value = String> {
    (0..fields().len(), any::<u64>(), ".{0,12}").prop_map(|(index, seed, text)| {
        let field = &fields()[index];
        let ops = literal::ops(field.kind);
        let op = ops[(seed >> 32) as usize % ops.len()];
        let number = seed as i32;
        let quoted =
            |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
        let value = match field.kind {
            _ if op == Op::Match => quoted(&regex::escape(&text)),
            _ if field.nullable
                && seed.is_multiple_of(7)
                && op.as_str().len() < 2
                && op == Op::Eq =>
            {
                "null".to_owned()
            }
            Kind::Id => format!("{:x}", seed >> (seed % 60)),
            Kind::Text => quoted(&text),
            Kind::Word(words) => words()[number.unsigned_abs() as usize % words().len()].to_owned(),
            Kind::Time => format!(
                "{}.{:03}{}",
                number,
                seed % 1000,
                ["ns", "us", "ms", "s"][seed as usize % 4]
            ),
            Kind::Count => number.to_string(),
            Kind::Share => format!("{}.{}%", number, seed % 1_000_000),
            Kind::Flag => seed.is_multiple_of(2).to_string(),
            Kind::Instant => UnixNanos(seed).to_string(),
            Kind::Object => "null".to_owned(),
        };
        format!("{} {} {value}", field.name, op.as_str())
    })
}

pub(super) fn expr() -> impl Strategy<Value = String> {
    test().prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4)
                .prop_map(|all| format!("({})", all.join(" and "))),
            prop::collection::vec(inner.clone(), 2..4)
                .prop_map(|all| format!("({})", all.join(" or "))),
            inner.prop_map(|one| format!("not ({one})")),
            one(),
        ]
    })
}

/// Conditions on one hop, call, row of the ledger or finding.
fn one() -> impl Strategy<Value = String> {
    let of = prop::sample::select(vec!["hop", "call", "ledger", "finding"]);
    let tests = prop::collection::vec((test(), any::<bool>()), 24..48);
    (of, tests, 0..4).prop_map(|(of, tests, shape)| {
        let prefix = format!("{of}.");
        let own = tests.iter().filter(|(test, _)| test.starts_with(&prefix));
        // In short, or by the whole name.
        let own = own.map(|(test, short)| {
            let rest = test.strip_prefix(&prefix).filter(|_| *short);
            rest.unwrap_or(test).to_owned()
        });
        let own: Vec<String> = own.take(3).collect();
        let inner = match (own.as_slice(), shape) {
            ([], _) => "service=a or not service=b".to_owned(),
            ([first, rest @ ..], 0) if !rest.is_empty() => {
                format!("not ({first} and {})", rest.join(" or "))
            }
            (all, 1) => all.join(" or "),
            (all, 2) => all.join(" and not "),
            (all, _) => all.join(" and "),
        };
        format!("{of}({inner})")
    })
}

proptest! {
    #[test]
    fn printing_and_parsing_again_gives_the_same(text in expr()) {
        let filter = Filter::parse(&text).map_err(|error| TestCaseError::fail(format!("{text}: {error}")))?;
        let printed = filter.to_string();
        let again = Filter::parse(&printed).map_err(|error| TestCaseError::fail(format!("{printed}: {error}")))?;
        prop_assert_eq!(&again, &filter, "{}", printed);
        prop_assert_eq!(again.to_string(), printed);
    }

    #[test]
    fn any_text_is_a_filter_or_is_marked(text in "[a-z.=<>~()!\"'0-9 %\\\\-]{0,40}|.{0,30}") {
        if let Err(error) = Filter::parse(&text) {
            let (before, fault, after) = error.parts(&text);
            prop_assert_eq!(format!("{before}{fault}{after}"), text.as_str());
            prop_assert_eq!(before.len(), error.at.start);
            prop_assert_eq!(fault.len(), error.at.len());
        }
    }
}
