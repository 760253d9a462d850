//! A filter as a text that parses to itself.

use std::fmt;

use super::{Expr, Filter, Op, Test};

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(&self.root, false, f)
    }
}

/// `short`: of one hop, call and so on, with the short names of fields.
fn print(expr: &Expr, short: bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match expr {
        Expr::Or(members) => list(members, " or ", f, |one, f| match one {
            // `and` binds tighter than `or`.
            Expr::And(_) => print(one, short, f),
            _ => member(one, short, f),
        }),
        Expr::And(members) => list(members, " and ", f, |one, f| member(one, short, f)),
        Expr::Not(inner) => {
            f.write_str("not ")?;
            member(inner, short, f)
        }
        Expr::One(of, inner) => {
            write!(f, "{}(", of.prefix())?;
            print(inner, true, f)?;
            f.write_str(")")
        }
        Expr::Test(Test { field, op, literal }) => {
            let name = if short { field.short() } else { field.name };
            // Words stand close, numbers apart, as people write them.
            match op {
                Op::Eq | Op::Ne => write!(f, "{name}{}{literal}", op.as_str()),
                _ => write!(f, "{name} {} {literal}", op.as_str()),
            }
        }
    }
}

fn list(
    members: &[Expr],
    between: &str,
    f: &mut fmt::Formatter<'_>,
    print: impl Fn(&Expr, &mut fmt::Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    for (index, one) in members.iter().enumerate() {
        if index > 0 {
            f.write_str(between)?;
        }
        print(one, f)?;
    }
    Ok(())
}

/// A condition in parentheses, unless it holds together without.
fn member(one: &Expr, short: bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match one {
        Expr::Or(_) | Expr::And(_) => {
            f.write_str("(")?;
            print(one, short, f)?;
            f.write_str(")")
        }
        Expr::Not(_) | Expr::One(..) | Expr::Test(_) => print(one, short, f),
    }
}
