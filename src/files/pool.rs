//! Work on all cores, in order.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::{Mutex, mpsc};
use std::thread;

fn threads() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Does `work` with what `next` gives, on all cores, and hands the results to `take` in order.
/// Threads take the next item when they are done with one; no more than two each wait. `start`
/// makes what a thread keeps from one item to the next. Ends early when `take` says false.
pub(super) fn ordered<I: Send, T: Send, S>(
    mut next: impl FnMut() -> Option<I>,
    start: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, I) -> T + Sync,
    mut take: impl FnMut(T) -> bool,
) {
    let threads = threads();
    let (give, todo) = mpsc::sync_channel::<(u64, I)>(2 * threads);
    let (done, results) = mpsc::channel::<(u64, T)>();
    let todo = Mutex::new(todo);
    thread::scope(|scope| {
        for _ in 0..threads {
            let done = done.clone();
            let (todo, start, work) = (&todo, &start, &work);
            scope.spawn(move || {
                let mut kept = start();
                loop {
                    let Ok(next) = todo.lock().map(|todo| todo.recv()) else {
                        return;
                    };
                    let Ok((number, item)) = next else { return };
                    if done.send((number, work(&mut kept, item))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(done);
        let mut joined = Joined::default();
        let mut number = 0;
        let mut goes_on = true;
        while goes_on && let Some(item) = next() {
            if give.send((number, item)).is_err() {
                break;
            }
            number += 1;
            while goes_on && let Ok(result) = results.try_recv() {
                goes_on = joined.add(result, &mut take);
            }
        }
        drop(give);
        for result in results {
            if goes_on {
                goes_on = joined.add(result, &mut take);
            }
        }
    });
}

/// Results that came before their turn.
#[derive(Debug)]
struct Joined<T> {
    next: u64,
    waiting: BTreeMap<u64, T>,
}

impl<T> Default for Joined<T> {
    fn default() -> Self {
        Self {
            next: 0,
            waiting: BTreeMap::new(),
        }
    }
}

impl<T> Joined<T> {
    fn add(&mut self, (number, result): (u64, T), take: &mut impl FnMut(T) -> bool) -> bool {
        self.waiting.insert(number, result);
        let mut goes_on = true;
        while goes_on && let Some(result) = self.waiting.remove(&self.next) {
            goes_on = take(result);
            self.next += 1;
        }
        goes_on
    }
}

/// Does something with each of `items` on all cores; the results stand in the order of the items.
/// Each item is dropped as soon as it is used, so that memory falls as the work goes on.
pub fn each<I: Send, T: Send>(items: Vec<I>, work: impl Fn(I) -> T + Sync) -> Vec<T> {
    /// Items that a thread takes at once, when they are small.
    const STRIDE: usize = 64;
    strides(items, STRIDE, work)
}

/// As [`each`], for items that are work enough one by one.
pub(super) fn each_large<I: Send, T: Send>(items: Vec<I>, work: impl Fn(I) -> T + Sync) -> Vec<T> {
    strides(items, 1, work)
}

fn strides<I: Send, T: Send>(items: Vec<I>, stride: usize, work: impl Fn(I) -> T + Sync) -> Vec<T> {
    let threads = threads();
    if threads == 1 || items.len() <= stride {
        return items.into_iter().map(work).collect();
    }
    let queue = Mutex::new((0, items.into_iter()));
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let (number, batch) = {
                        let Ok(mut queue) = queue.lock() else { return };
                        let batch: Vec<I> = queue.1.by_ref().take(stride).collect();
                        queue.0 += 1;
                        (queue.0, batch)
                    };
                    if batch.is_empty() {
                        return;
                    }
                    let results: Vec<T> = batch.into_iter().map(&work).collect();
                    let Ok(mut done) = done.lock() else { return };
                    done.push((number, results));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(number, _): &(usize, Vec<T>)| *number);
    done.into_iter().flat_map(|(_, results)| results).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_on_many_threads_keeps_the_order() {
        let items: Vec<u64> = (0..10_000).collect();
        let expected: Vec<u64> = items.iter().map(|i| i * i).collect();
        assert_eq!(each(items.clone(), |i| i * i), expected);
        assert_eq!(each_large(items.clone(), |i| i * i), expected);
        let mut items = items.into_iter();
        let mut got = Vec::new();
        ordered(
            || items.next(),
            || (),
            |(), i| i * i,
            |square| {
                got.push(square);
                got.len() < 9_000
            },
        );
        assert!(got == expected[..9_000]);
    }
}
