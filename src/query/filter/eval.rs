//! Whether a request is what a filter asks for.

use std::cmp::Ordering;

use super::fields::Read;
use super::{Expr, Literal, Of, Op, Test, Value};
use crate::model::{Call, Finding, Hop, LedgerRow, Nanos, Note, Request};

/// Whether the request is what the condition asks for.
pub(super) fn matches(expr: &Expr, request: &Request) -> bool {
    combined(expr, &|leaf| match leaf {
        Expr::One(of, inner) => any(*of, request, |item| {
            combined(inner, &|leaf| of_item(leaf, item))
        }),
        Expr::Test(test) => any(test.field.of(), request, |item| of_item(leaf, item)),
        Expr::Or(_) | Expr::And(_) | Expr::Not(_) => false,
    })
}

/// A condition by what its leaves are. The parser bounds the depth.
fn combined(expr: &Expr, leaf: &impl Fn(&Expr) -> bool) -> bool {
    match expr {
        Expr::Or(members) => members.iter().any(|member| combined(member, leaf)),
        Expr::And(members) => members.iter().all(|member| combined(member, leaf)),
        Expr::Not(inner) => !combined(inner, leaf),
        Expr::One(..) | Expr::Test(_) => leaf(expr),
    }
}

/// What a field is read of.
#[derive(Debug, Clone, Copy)]
enum Item<'a> {
    Request(&'a Request),
    Note(&'a Note),
    Hop(&'a Hop),
    Call(&'a Hop, &'a Call),
    Ledger(&'a LedgerRow),
    Finding(&'a Finding),
}

/// Whether this holds of any that the request has.
fn any(of: Of, request: &Request, holds: impl Fn(Item<'_>) -> bool) -> bool {
    match of {
        Of::Request => holds(Item::Request(request)),
        Of::Note => request.notes.iter().map(Item::Note).any(holds),
        Of::Hop => request.hops.iter().map(Item::Hop).any(holds),
        Of::Call => request.hops.iter().any(|hop| {
            let mut calls = hop.calls.iter();
            calls.any(|call| holds(Item::Call(hop, call)))
        }),
        Of::Ledger => request.ledger.iter().map(Item::Ledger).any(holds),
        Of::Finding => request.findings.iter().map(Item::Finding).any(holds),
    }
}

/// Whether a comparison holds of one of what its field is of; the parser lets no other leaf stand
/// there.
fn of_item(leaf: &Expr, item: Item<'_>) -> bool {
    let Expr::Test(test) = leaf else {
        return false;
    };
    match (test.field.read, item) {
        (Read::Request(read), Item::Request(request)) => holds(test, &read(request)),
        (Read::Note(read), Item::Note(note)) => holds(test, &read(note)),
        (Read::Hop(read), Item::Hop(hop)) => holds(test, &read(hop)),
        (Read::Call(read), Item::Call(hop, call)) => holds(test, &read(hop, call)),
        (Read::Ledger(read), Item::Ledger(row)) => holds(test, &read(row)),
        (Read::Finding(read), Item::Finding(finding)) => holds(test, &read(finding)),
        _ => false,
    }
}

fn holds(test: &Test, value: &Value<'_>) -> bool {
    let op = test.op;
    match (&test.literal, value) {
        (Literal::Null, value) => (*value == Value::Null) == (op == Op::Eq),
        (Literal::Id(digits), Value::Id(bytes)) => begins(bytes, digits) == (op == Op::Eq),
        (Literal::Text(text), Value::Text(value)) => (text == value) == (op == Op::Eq),
        (Literal::Text(text), Value::Made(value)) => (text == value) == (op == Op::Eq),
        (Literal::Pattern(pattern), Value::Text(value)) => pattern.is_match(value),
        (Literal::Pattern(pattern), Value::Made(value)) => pattern.is_match(value),
        (Literal::Time(wanted), Value::Time(value)) => ordered(op, printed(*value).cmp(wanted)),
        (Literal::Count(wanted), Value::Count(value)) => ordered(op, value.cmp(wanted)),
        (Literal::Share(wanted), Value::Share(value)) => {
            // The value is in millionths, as JSON has it; what is wanted may be finer.
            ordered(op, (i128::from(*value) * 100).cmp(&i128::from(*wanted)))
        }
        (Literal::Flag(wanted), Value::Flag(value)) => (value == wanted) == (op == Op::Eq),
        (Literal::Instant(wanted), Value::Instant(value)) => ordered(op, value.cmp(wanted)),
        // Unknown: nothing but null is true of it.
        _ => false,
    }
}

fn ordered(op: Op, order: Ordering) -> bool {
    match op {
        Op::Eq => order.is_eq(),
        Op::Ne => order.is_ne(),
        Op::Lt => order.is_lt(),
        Op::Le => order.is_le(),
        Op::Gt => order.is_gt(),
        Op::Ge => order.is_ge(),
        Op::Match => false,
    }
}

/// What is printed of a duration: whole microseconds. Who reads 497 ms can ask for 497 ms.
fn printed(time: Nanos) -> Nanos {
    time.rounded_to_micros()
}

/// Whether the hex of an id begins with these lower-case digits.
fn begins(id: &[u8], digits: &str) -> bool {
    let mut of_id = id.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.bytes().all(|digit| {
        let value = char::from(digit).to_digit(16);
        of_id.next().map(u32::from) == value
    })
}
