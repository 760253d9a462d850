//! A fast hash for the keys of fixed tables: who writes spans cannot add to those, so nobody gains
//! by keys that collide.

use std::hash::{BuildHasherDefault, Hasher};

use xxhash_rust::xxh3::xxh3_64;

/// A map whose keys are known beforehand; look-ups take what others wrote.
pub(super) type Table<K, V> = std::collections::HashMap<K, V, BuildHasherDefault<Quick>>;

/// The hash of one key.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Quick(u64);

impl Hasher for Quick {
    fn write(&mut self, bytes: &[u8]) {
        self.write_u64(xxh3_64(bytes));
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(23) ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn write_i64(&mut self, number: i64) {
        self.write_u64(number as u64);
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(number as u64);
    }

    fn finish(&self) -> u64 {
        // Tables look at the highest bits and at the lowest, and the lowest are not yet mixed.
        self.0 ^ self.0 >> 32
    }
}
