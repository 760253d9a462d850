use super::*;
use crate::query::fixtures::{chain, fan_out};

const PLAIN: Look = Look {
    color: false,
    ascii: false,
    width: 100,
};

#[test]
fn the_chain() {
    println!("{}", super::request(&chain(), PLAIN));
}

#[test]
fn the_fan_out() {
    println!("{}", super::request(&fan_out(), PLAIN));
}
