use proptest::prelude::*;

use super::*;
use crate::model::{HandedOver, Nanos, Note, TraceId, Verdict};
use crate::query::fixtures::{call, chain, fan_out, hop, ms, span};

fn drawn(one: &Request, width: usize, color: bool, ascii: bool) -> String {
    let look = Look {
        color,
        ascii,
        width,
    };
    request(one, look)
}

#[test]
fn the_chain_looks_like_the_reference() {
    insta::assert_snapshot!(drawn(&chain(), 100, false, false));
}

#[test]
fn the_fan_out_looks_like_the_reference() {
    insta::assert_snapshot!(drawn(&fan_out(), 100, false, false));
}

#[test]
fn the_fan_out_in_ascii() {
    insta::assert_snapshot!(drawn(&fan_out(), 100, false, true));
}

#[test]
fn a_wider_terminal_gives_the_rest_to_the_bars() {
    insta::assert_snapshot!(drawn(&chain(), 140, false, false));
}

#[test]
fn narrower_terminals_drop_columns() {
    let at = |width| drawn(&chain(), width, false, false);
    insta::assert_snapshot!([at(98), at(80), at(60)].join("\n--------\n"));
}

#[test]
fn colour_only_adds_codes() {
    let colored = drawn(&fan_out(), 100, true, false);
    insta::assert_snapshot!(colored.replace('\x1b', "^"));
    let mut plain = String::new();
    let mut rest = colored.as_str();
    while let Some((before, after)) = rest.split_once("\x1b[") {
        plain.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    plain.push_str(rest);
    let lines = |text: &str| -> Vec<String> {
        text.lines()
            .map(|line| line.trim_end().to_owned())
            .collect()
    };
    assert_eq!(lines(&plain), lines(&drawn(&fan_out(), 100, false, false)));
}

#[test]
fn what_qualifies_the_numbers_is_said() {
    let mut one = chain();
    one.complete = false;
    one.notes = vec![Note::MissingParent(2)];
    one.hops[1].handed_over = vec![HandedOver {
        trace_id: TraceId([7; 16]),
        request: span(9),
    }];
    one.findings.clear();
    one.budget = Some(ms(1500));
    let text = drawn(&one, 100, false, false);
    assert!(
        text.contains("note: 2 spans of the trace name a parent that never came."),
        "{text}"
    );
    assert!(
        text.contains("orders handed over to request 0000000000000009 of trace 07070707"),
        "{text}"
    );
    assert!(text.contains("Findings  none"), "{text}");
    assert!(text.contains("  unspent   "), "{text}");
}

#[test]
fn without_a_budget_there_is_no_line() {
    let mut one = chain();
    (one.budget, one.findings) = (None, Vec::new());
    for hop in &mut one.hops {
        (hop.deadline, hop.own_deadline, hop.remaining_in) = (None, None, None);
        hop.remaining_in_source = crate::model::Source::default();
    }
    let text = drawn(&one, 100, false, false);
    assert!(!text.contains("deadline 1,000"), "{text}");
    let orders = text
        .lines()
        .find(|line| line.contains("orders POST"))
        .unwrap();
    assert!(!orders.contains('\u{2502}'), "{orders}");
}

/// Names that try to steer the terminal, to break the layout, to look like something else.
fn hostile() -> Vec<&'static str> {
    vec![
        "\x1b]0;owned\x07\x1b[2J",
        "a\r\nb\tc\u{85}d\u{2028}e",
        "\u{202e}gnisrever\u{2066}",
        "\u{9b}31m",
        "\u{4ef7}\u{683c}\u{670d}\u{52a1}\u{4ef7}\u{683c}\u{670d}\u{52a1}\u{4ef7}\u{683c}",
        "e\u{301}\u{1f469}\u{200d}\u{1f4bb}",
        "",
    ]
}

#[test]
fn names_cannot_steer_the_terminal_or_break_the_columns() {
    for name in hostile() {
        for ascii in [false, true] {
            let mut one = chain();
            for hop in &mut one.hops {
                (hop.service, hop.operation) = (name.into(), name.into());
                for call in &mut hop.calls {
                    call.to = name.into();
                }
            }
            (one.service, one.operation) = (name.into(), name.into());
            for finding in &mut one.findings {
                (finding.service, finding.message) = (name.into(), format!("{name} did it"));
            }
            let text = drawn(&one, 100, false, ascii);
            assert!(
                text.chars().all(|c| c == '\n' || !c.is_control()),
                "{text:?}"
            );
            assert!(
                !text.contains(['\u{202e}', '\u{2066}', '\u{2028}', '\u{200d}']),
                "{text:?}"
            );
            assert!(!ascii || text.is_ascii(), "{text}");
            for line in text.lines() {
                assert!(pen::width(line) <= 100, "{line}");
            }
            // The bars stay under each other.
            let line = Glyph::Line.char(ascii);
            let columns: Vec<usize> = text
                .lines()
                .filter(|row| row.contains("finished late"))
                .map(|row| pen::width(row.rsplit_once(line).unwrap().0))
                .collect();
            assert!(columns.iter().all(|column| *column == 62), "{text}");
        }
    }
}

#[test]
fn a_deep_row_prints_its_depth() {
    let hops: Vec<_> = (0..30)
        .map(|id: usize| {
            let mut hop = hop(id, id.checked_sub(1), "service", "op", (0, 1000));
            hop.verdict = Verdict::FinishedLate;
            hop.calls = vec![call("service", "op", Some(id + 1), (0, 1000))];
            hop
        })
        .collect();
    let text = drawn(
        &crate::query::fixtures::request(hops, Some(900), &[]),
        100,
        false,
        false,
    );
    assert!(text.contains("         29 \u{2514} service"), "{text}");
}

#[test]
fn numbers_lose_decimals_before_they_lose_company() {
    let mut one = chain();
    one.hops[1].wasted = Nanos(307_900_000);
    one.hops[1].local = Nanos(44_440_000);
    one.hops[2].deadline = Some(Nanos(252_345_678));
    one.hops[2].calls[0].remaining_out = Some(Nanos(12_345_678));
    let text = drawn(&one, 100, false, false);
    let row = |name: &str| text.lines().find(|line| line.contains(name)).unwrap();
    assert!(
        row("orders POST").ends_with("   43.4+1 finished late"),
        "{text}"
    );
    assert!(
        row("inventory Res").contains("  50.3\u{2192}12.3 "),
        "{text}"
    );
    one.hops[1].calls[0].elapsed = ms(1000);
    one.hops[1].local = Nanos(444_440_000);
    one.hops[2].calls[0].remaining_out = Some(Nanos(12_345_678_901_234_567));
    let text = drawn(&one, 100, false, false);
    let row = |name: &str| text.lines().find(|line| line.contains(name)).unwrap();
    assert!(row("orders POST").contains(" 338+106 "), "{text}");
    assert!(row("inventory Res").contains("         50 "), "{text}");
}

#[test]
fn a_large_request_is_folded() {
    let mut hops = vec![hop(0, None, "root", "op", (0, 1000))];
    for id in 1..=60 {
        let at = (id as i64 * 10, id as i64 * 10 + 5);
        hops[0].calls.push(call("leaf", "op", Some(id), at));
        hops.push(hop(id, Some(0), "leaf", "op", at));
    }
    let text = drawn(
        &crate::query::fixtures::request(hops, Some(2000), &[]),
        100,
        false,
        false,
    );
    assert!(text.contains("\u{2514} +60 hops, all ok"), "{text}");
    assert!(text.lines().count() < 20, "{text}");
}

proptest! {
    #[test]
    fn any_times_draw_within_the_width(
        start in -2000_i64..3000, elapsed in 0_i64..4000, deadline in -500_i64..5000,
        wasted in 0_i64..500, width in 40_usize..180, unit in prop_oneof![Just(1_i64), Just(1000), Just(1_000_000), Just(86_400_000_000_000)],
    ) {
        let mut one = chain();
        let at = |n: i64| Nanos(n.saturating_mul(unit));
        for hop in &mut one.hops {
            hop.start = at(start);
            hop.elapsed = at(elapsed);
            hop.deadline = Some(at(deadline));
            hop.own_deadline = Some(at(deadline + 100));
            hop.wasted = at(wasted);
        }
        one.budget = Some(at(deadline));
        one.elapsed = at(elapsed);
        let text = drawn(&one, width, false, false);
        for line in text.lines() {
            prop_assert!(pen::width(line) <= width.max(60), "{}: {}", width, line);
        }
    }
}
