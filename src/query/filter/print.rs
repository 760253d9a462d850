//! A filter as a text that parses to itself.

use std::fmt::{self, Display as _};

use super::{Expr, Filter, Test};

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.root.fmt(f)
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Or(members) => list(members, " or ", f),
            Self::And(members) => list(members, " and ", f),
            Self::Not(inner) => {
                f.write_str("not ")?;
                member(inner, f)
            }
            Self::Test(Test { field, op, literal }) => {
                // Words stand close, numbers apart, as people write them.
                match op {
                    super::Op::Eq | super::Op::Ne => {
                        write!(f, "{}{}{literal}", field.name, op.as_str())
                    }
                    _ => write!(f, "{} {} {literal}", field.name, op.as_str()),
                }
            }
        }
    }
}

fn list(members: &[Expr], between: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (index, one) in members.iter().enumerate() {
        if index > 0 {
            f.write_str(between)?;
        }
        match (one, between) {
            // `and` binds tighter than `or`.
            (Expr::And(_), " or ") => one.fmt(f)?,
            _ => member(one, f)?,
        }
    }
    Ok(())
}

/// A condition in parentheses, unless it holds together without.
fn member(one: &Expr, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match one {
        Expr::Or(_) | Expr::And(_) => write!(f, "({one})"),
        Expr::Not(_) | Expr::Test(_) => one.fmt(f),
    }
}
