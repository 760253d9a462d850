//! A filter as a text that parses to itself.

use std::fmt::{self, Display as _};

use super::{Expr, Filter, Op, Test};

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.root.fmt(f)
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // `and` binds tighter than `or`.
            Self::Or(members) => list(members, " or ", f, |one, f| match one {
                Self::And(_) => one.fmt(f),
                _ => member(one, f),
            }),
            Self::And(members) => list(members, " and ", f, member),
            Self::Not(inner) => {
                f.write_str("not ")?;
                member(inner, f)
            }
            Self::One(of, inner) => {
                write!(f, "{}({})", of.prefix(), Short(inner))
            }
            Self::Test(test) => print(test, test.field.name, f),
        }
    }
}

fn print(test: &Test, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let Test { op, literal, .. } = test;
    // Words stand close, numbers apart, as people write them.
    match op {
        Op::Eq | Op::Ne => write!(f, "{name}{}{literal}", op.as_str()),
        _ => write!(f, "{name} {} {literal}", op.as_str()),
    }
}

/// A condition on one hop, call and so on, with the short names of fields.
struct Short<'a>(&'a Expr);

impl fmt::Display for Short<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |one: &Expr, f: &mut fmt::Formatter<'_>| match one {
            Expr::Or(_) | Expr::And(_) => write!(f, "({})", Short(one)),
            _ => Short(one).fmt(f),
        };
        match self.0 {
            Expr::Or(members) => list(members, " or ", f, |one, f| match one {
                Expr::And(_) => Short(one).fmt(f),
                _ => short(one, f),
            }),
            Expr::And(members) => list(members, " and ", f, short),
            Expr::Not(inner) => {
                f.write_str("not ")?;
                short(inner, f)
            }
            Expr::Test(test) => print(test, test.field.short(), f),
            other @ Expr::One(..) => other.fmt(f),
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
fn member(one: &Expr, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match one {
        Expr::Or(_) | Expr::And(_) => write!(f, "({one})"),
        Expr::Not(_) | Expr::One(..) | Expr::Test(_) => one.fmt(f),
    }
}
