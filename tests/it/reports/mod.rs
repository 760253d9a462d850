//! Kinds of faults that users of trace tools have reported, by the number of the row in the list
//! of reports: each test says which. Rows that another test holds are named in its comment.

mod encoding;
mod files;
mod outcome;
mod time;
mod trees;

use dwindle::budget::{Policy, Typical, analyse};
use dwindle::model::{Analysis, Trace};

use crate::semantics::{check, notation};

fn analysed(trace: &Trace) -> Analysis {
    analyse(trace, &Policy::default(), &Typical::default())
}

/// Of spans in the notation.
fn requests(spans: &str) -> Analysis {
    analysed(&notation::trace(spans))
}
