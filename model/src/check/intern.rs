//! Numbers that stand for values: equal values have equal numbers.
//!
//! Two threads may meet the same new values in another order, so the numbers differ from
//! run to run. Nothing that is reported depends on them.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::{Arc, RwLock};

/// A quick hash for keys that nobody chooses to do harm.
#[derive(Clone, Copy, Default)]
pub(crate) struct QuickHasher(u64);

const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

/// Multiplies and folds the halves of the product, so that every bit matters.
pub(crate) fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a ^ MIX) * u128::from(b ^ 0xd1b5_4a32_d192_ed03);
    #[expect(clippy::cast_possible_truncation, reason = "the halves are folded together")]
    let folded = product as u64 ^ (product >> 64) as u64;
    folded
}

impl Hasher for QuickHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.write_u64(value.into());
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(value.into());
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = mix(self.0.rotate_left(5) ^ value, MIX);
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

pub(crate) type QuickMap<K, V> = HashMap<K, V, BuildHasherDefault<QuickHasher>>;

/// Gives numbers to values, and values to numbers. Shared between threads.
#[derive(Debug)]
pub(crate) struct Interner<T>(RwLock<Table<T>>);

#[derive(Debug)]
struct Table<T> {
    numbers: QuickMap<Arc<T>, u32>,
    values: Vec<Arc<T>>,
}

impl<T: Eq + Hash> Interner<T> {
    pub(crate) fn new() -> Self {
        Self(RwLock::new(Table { numbers: QuickMap::default(), values: Vec::new() }))
    }

    /// The number of this value.
    pub(crate) fn number(&self, value: T) -> u32 {
        if let Some(number) = self.0.read().expect("no thread panics").numbers.get(&value) {
            return *number;
        }
        let mut table = self.0.write().expect("no thread panics");
        if let Some(number) = table.numbers.get(&value) {
            return *number;
        }
        let number = u32::try_from(table.values.len()).expect("fewer than 2^32 values");
        let value = Arc::new(value);
        table.values.push(Arc::clone(&value));
        table.numbers.insert(value, number);
        number
    }

    /// The value of this number.
    pub(crate) fn value(&self, number: u32) -> Arc<T> {
        Arc::clone(&self.0.read().expect("no thread panics").values[number as usize])
    }

    pub(crate) fn len(&self) -> usize {
        self.0.read().expect("no thread panics").values.len()
    }
}
