//! A filter over the tables: which rows of `requests` it takes, as a Polars plan.
//!
//! It says the same as [`Filter::matches`](super::Filter::matches) says of a request; a property
//! test holds the two together. Durations and ids become ranges of what the column holds, so that
//! Polars can pass over row groups by their statistics.

use polars::prelude::{
    BooleanChunked, Column, DataType, Expr as Plan, Field as Typed, Int64Chunked, IntoColumn as _,
    JoinArgs, JoinType, LazyFrame, PlSmallStr, TimeUnit, col, lit,
};
use regex::Regex;

use super::literal::Literal;
use super::{Expr, Field, Filter, Kind, Of, Op, Test};
use crate::model::{Nanos, UnixNanos};
use crate::query::rows::{IDENTITY, culprit_whole, millionths};
use crate::store::tables::{Table, nanos};

/// A filter, ready for the tables.
#[derive(Debug, Clone)]
pub(in crate::query) struct Tabled {
    /// What can be told from a row of `requests` alone; the others need not be looked at further.
    first: Option<Plan>,
    /// What needs the other tables, too: it names columns that [`Self::rows`] joins.
    then: Option<Plan>,
    /// Of each other table, the tests of which any row may satisfy each; the test's number in the
    /// name of its column.
    others: Vec<(Table, Vec<Plan>)>,
}

impl Filter {
    /// The filter over the tables.
    pub(in crate::query) fn tabled(&self) -> Tabled {
        let mut others: Vec<(Table, Vec<Plan>)> = Vec::new();
        let members = match &self.root {
            Expr::And(members) => members.as_slice(),
            root => std::slice::from_ref(root),
        };
        let (first, then): (Vec<&Expr>, Vec<&Expr>) =
            members.iter().partition(|member| is_of_requests(member));
        let first = first.into_iter().map(|one| plan(one, &mut others));
        let first = joined(first.collect(), Plan::and);
        let then = then.into_iter().map(|one| plan(one, &mut others));
        let then = joined(then.collect(), Plan::and);
        Tabled {
            first,
            then,
            others,
        }
    }

    /// The instants between which every request starts that the filter can take, both included:
    /// from the comparisons of `start` that stand alone or are joined by `and`.
    pub(in crate::query) fn window(&self) -> (Option<UnixNanos>, Option<UnixNanos>) {
        let members = match &self.root {
            Expr::And(members) => members.as_slice(),
            root => std::slice::from_ref(root),
        };
        let (mut since, mut until) = (None::<UnixNanos>, None::<UnixNanos>);
        for member in members {
            let Expr::Test(Test {
                field,
                op,
                literal: Literal::Instant(at),
            }) = member
            else {
                continue;
            };
            if field.of() != Of::Request {
                continue;
            }
            if matches!(op, Op::Eq | Op::Gt | Op::Ge) {
                since = Some(since.map_or(*at, |since| since.max(*at)));
            }
            if matches!(op, Op::Eq | Op::Lt | Op::Le) {
                until = Some(until.map_or(*at, |until| until.min(*at)));
            }
        }
        (since, until)
    }
}

impl Field {
    /// Its value as a plan over the table that has it.
    pub(in crate::query) fn plan(&self) -> Plan {
        value(self)
    }
}

impl Tabled {
    /// Whether `requests` alone does not tell which rows it takes.
    pub(in crate::query) fn needs_others(&self) -> bool {
        self.then.is_some()
    }

    /// The rows of `requests` that it may take, as far as those alone tell.
    pub(in crate::query) fn by_requests(&self, requests: LazyFrame) -> LazyFrame {
        match &self.first {
            Some(first) => requests.filter(first.clone()),
            None => requests,
        }
    }

    /// The rows of `requests` that the filter takes; `scan` gives the other tables. Of what it
    /// needs beside the columns that are asked for later, Polars reads only the columns that the
    /// filter names.
    pub(in crate::query) fn rows<E>(
        &self,
        requests: LazyFrame,
        scan: impl Fn(Table) -> Result<LazyFrame, E>,
    ) -> Result<LazyFrame, E> {
        let mut rows = self.by_requests(requests);
        for (table, tests) in &self.others {
            let any = joined(tests.clone(), Plan::or);
            let flags = tests.iter().enumerate().map(|(number, test)| {
                let test = test.clone().fill_null(lit(false));
                test.any(true).alias(flag(*table, number))
            });
            let flags: Vec<Plan> = flags.collect();
            let mut found = scan(*table)?;
            if let Some(any) = any {
                found = found.filter(any);
            }
            let found = found.group_by(IDENTITY.map(col)).agg(flags);
            let on = IDENTITY.map(col);
            rows = rows.join(found, on.clone(), on, JoinArgs::new(JoinType::Left));
        }
        if let Some(then) = &self.then {
            rows = rows.filter(then.clone());
        }
        Ok(rows)
    }
}

pub(super) fn is_of_requests(expr: &Expr) -> bool {
    match expr {
        Expr::Or(members) | Expr::And(members) => members.iter().all(is_of_requests),
        Expr::Not(inner) => is_of_requests(inner),
        Expr::One(of, _) => table_of(*of) == Table::Requests,
        Expr::Test(test) => table(test.field) == Table::Requests,
    }
}

/// The table whose column holds the field.
pub(super) fn table(field: &Field) -> Table {
    table_of(field.of())
}

fn table_of(of: Of) -> Table {
    match of {
        Of::Request | Of::Note => Table::Requests,
        Of::Hop => Table::Hops,
        Of::Call => Table::Calls,
        Of::Ledger => Table::Ledger,
        Of::Finding => Table::Findings,
    }
}

fn flag(table: Table, number: usize) -> String {
    format!("{table} test {number}")
}

/// A plan that is true where the condition holds, and false or null where not.
fn plan(expr: &Expr, others: &mut Vec<(Table, Vec<Plan>)>) -> Plan {
    combined(expr, &mut |leaf| match leaf {
        Expr::One(of, inner) => any_row(table_of(*of), combined(inner, &mut of_row), others),
        Expr::Test(test) if table(test.field) != Table::Requests => {
            any_row(table(test.field), of_row(leaf), others)
        }
        leaf => of_row(leaf),
    })
}

/// A condition by what its leaves are. The parser bounds the depth.
fn combined(expr: &Expr, leaf: &mut impl FnMut(&Expr) -> Plan) -> Plan {
    let mut all = |members: &[Expr], join: fn(Plan, Plan) -> Plan| {
        let members = members.iter().map(|member| combined(member, leaf));
        joined(members.collect(), join).unwrap_or_else(|| lit(false))
    };
    match expr {
        Expr::Or(members) => all(members, Plan::or),
        Expr::And(members) => all(members, Plan::and),
        // Without `not`, null and false come to the same; below one they have to be told apart.
        Expr::Not(inner) => combined(inner, leaf).fill_null(lit(false)).not(),
        Expr::One(..) | Expr::Test(_) => leaf(expr),
    }
}

/// That a row of another table satisfies this.
fn any_row(table: Table, test: Plan, others: &mut Vec<(Table, Vec<Plan>)>) -> Plan {
    let index = others.iter().position(|(known, _)| *known == table);
    let index = index.unwrap_or_else(|| {
        others.push((table, Vec::new()));
        others.len() - 1
    });
    let Some((_, tests)) = others.get_mut(index) else {
        return lit(false);
    };
    tests.push(test);
    col(flag(table, tests.len() - 1))
}

/// A comparison on a single row; the parser lets no other leaf stand there.
fn of_row(leaf: &Expr) -> Plan {
    match leaf {
        Expr::Test(test) => of_test(test),
        _ => lit(false),
    }
}

/// As a balanced tree: Polars walks plans by recursion, and a filter may have hundreds of members.
fn joined(mut members: Vec<Plan>, join: fn(Plan, Plan) -> Plan) -> Option<Plan> {
    while members.len() > 1 {
        let mut pairs = members.into_iter();
        let mut next = Vec::with_capacity(pairs.len().div_ceil(2));
        while let Some(one) = pairs.next() {
            next.push(match pairs.next() {
                Some(other) => join(one, other),
                None => one,
            });
        }
        members = next;
    }
    members.pop()
}

/// One comparison over the rows of its field's table: null where the field is unknown.
fn of_test(test: &Test) -> Plan {
    let Test { field, op, literal } = test;
    let value = value(field);
    match literal {
        Literal::Null if *op == Op::Eq => value.is_null(),
        Literal::Null => value.is_not_null(),
        Literal::Id(digits) => begins(value, digits, *op),
        Literal::Text(text) if field.of() == Of::Note => {
            let (text, equal) = (text.clone(), *op == Op::Eq);
            any_note(value, move |note| (note == text) == equal)
        }
        Literal::Pattern(pattern) if field.of() == Of::Note => {
            let pattern = pattern.clone();
            any_note(value, move |note| pattern.is_match(note))
        }
        Literal::Text(text) if *op == Op::Eq => value.eq(lit(text.as_str())),
        Literal::Text(text) => value.neq(lit(text.as_str())),
        Literal::Pattern(pattern) => matching(value, pattern.clone()),
        Literal::Time(wanted) => {
            // Printed are whole microseconds; what prints as one begins half of one before it.
            let first = |micros: i128| micros * 1000 - if micros > 0 { 500 } else { 499 };
            let range = Range::of(*op, wanted.0.into(), 1000, first);
            range.holds(&value, |nanos| lit(nanos as f64 / 1e6))
        }
        Literal::Count(wanted) => Range::of(*op, (*wanted).into(), 1, |n| n).holds(&value, lit),
        // A share is in millionths, what is wanted of it in hundred-millionths.
        Literal::Share(wanted) => Range::of(*op, (*wanted).into(), 100, |n| n).holds(&value, lit),
        Literal::Flag(wanted) if *wanted == (*op == Op::Eq) => value,
        Literal::Flag(_) => value.not(),
        Literal::Instant(wanted) => {
            let nanos = |nanos: i64| lit(nanos).cast(INSTANT);
            Range::of(*op, wanted.0.into(), 1, |n| n).holds(&value, nanos)
        }
    }
}

const INSTANT: DataType = DataType::Datetime(TimeUnit::Nanoseconds, None);

/// The column of a field, or what is computed from it.
fn value(field: &Field) -> Plan {
    let column = col(field.column);
    match (field.kind, field.name) {
        (Kind::Share, "used") => shares("elapsed_ms", column, |elapsed, budget| {
            let budget = nanos(budget);
            (budget > Nanos::ZERO).then(|| millionths(elapsed, budget))
        }),
        (Kind::Share, _) => shares("culprit_consumed_ms", column, |consumed, share| {
            Some(millionths(consumed, culprit_whole(consumed, share)))
        }),
        _ => column,
    }
}

/// The shares, in millionths, of times and another column.
fn shares(time: &str, other: Plan, share: fn(Nanos, f64) -> Option<i64>) -> Plan {
    let name = || PlSmallStr::from_static("share");
    col(time).map_many(
        move |columns| {
            let [times, others] = columns else {
                return Ok(Column::new_empty(name(), &DataType::Int64));
            };
            let pairs = times.f64()?.iter().zip(others.f64()?.iter());
            let shares = pairs.map(|(time, other)| share(nanos(time?), other?));
            let shares: Int64Chunked = shares.collect();
            Ok(shares.with_name(name()).into_column())
        },
        &[other],
        move |_, _| Ok(Typed::new(name(), DataType::Int64)),
    )
}

/// Whether a text matches; names come again and again, so the last answer often serves.
fn matching(value: Plan, pattern: Regex) -> Plan {
    texts(value, move |text, last: &mut Option<(String, bool)>| {
        if let Some((known, answer)) = last
            && known == text
        {
            return *answer;
        }
        let answer = pattern.is_match(text);
        *last = Some((text.to_owned(), answer));
        answer
    })
}

/// Whether any of the notes, a JSON list of texts, holds; a request without notes has none.
fn any_note(notes: Plan, holds: impl Fn(&str) -> bool + Send + Sync + 'static) -> Plan {
    texts(notes, move |list, (): &mut ()| {
        let list: Vec<String> = serde_json::from_str(list).unwrap_or_default();
        list.iter().any(|note| holds(note))
    })
}

fn texts<M: Default>(
    value: Plan,
    holds: impl Fn(&str, &mut M) -> bool + Send + Sync + 'static,
) -> Plan {
    value.map(
        move |column| {
            let mut memory = M::default();
            let answers = column.str()?.iter();
            let answers = answers.map(|text| Some(holds(text?, &mut memory)));
            let answers: BooleanChunked = answers.collect();
            Ok(answers.with_name(column.name().clone()).into_column())
        },
        |_, field| Ok(Typed::new(field.name().clone(), DataType::Boolean)),
    )
}

/// Whether the hex of an id begins with these digits: texts that do lie between them and what
/// follows the last of them.
fn begins(value: Plan, digits: &str, op: Op) -> Plan {
    let mut next = digits.as_bytes().to_vec();
    if let Some(last) = next.last_mut() {
        *last += 1;
    }
    let next = String::from_utf8(next).unwrap_or_default();
    let (from, below) = (lit(digits), lit(next));
    if op == Op::Eq {
        value.clone().gt_eq(from).and(value.lt(below))
    } else {
        value.clone().lt(from).or(value.gt_eq(below))
    }
}

/// Whole numbers from one up to another, or all but those.
struct Range {
    from: Option<i128>,
    below: Option<i128>,
    outside: bool,
}

impl Range {
    /// The values of which `op` holds against `wanted`, where a value counts as the greatest
    /// multiple of `step` whose `first` does not exceed it; `first` takes the multiple's number.
    fn of(op: Op, wanted: i128, step: i128, first: impl Fn(i128) -> i128) -> Self {
        let above = first(wanted.div_euclid(step) + 1);
        let at = first(-(-wanted).div_euclid(step));
        let (from, below) = match op {
            Op::Eq | Op::Ne => (Some(at), Some(above)),
            Op::Ge => (Some(at), None),
            Op::Gt => (Some(above), None),
            Op::Lt => (None, Some(at)),
            Op::Le => (None, Some(above)),
            // The parser lets no pattern stand beside a number.
            Op::Match => (Some(0), Some(0)),
        };
        Self {
            from,
            below,
            outside: op == Op::Ne,
        }
    }

    /// A bound that no value can pass is none.
    fn holds(&self, value: &Plan, literal: impl Fn(i64) -> Plan) -> Plan {
        let known = || value.clone().is_not_null();
        let from = self.from.map(|from| match i64::try_from(from) {
            Ok(from) => value.clone().gt_eq(literal(from)),
            Err(_) if from < 0 => known(),
            Err(_) => lit(false),
        });
        let below = self.below.map(|below| match i64::try_from(below) {
            Ok(below) => value.clone().lt(literal(below)),
            Err(_) if below < 0 => lit(false),
            Err(_) => known(),
        });
        let inside = joined(from.into_iter().chain(below).collect(), Plan::and);
        let inside = inside.unwrap_or_else(known);
        if self.outside {
            known().and(inside.not())
        } else {
            inside
        }
    }
}
