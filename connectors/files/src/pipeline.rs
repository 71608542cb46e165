//! Work on several threads whose results come back in the order of the tasks.
//!
//! Workers run ahead of the consumer only as far as a budget of bytes allows, so that a folder of
//! any size needs bounded memory: a task counts by what it is expected to occupy until it is done, and by
//! what its result occupies until that is taken. Knows nothing of files.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use dpe_connector::{CancelFlag, RpcError};

/// What files being read and documents waiting to be sent may occupy together, in bytes.
pub const BUDGET: u64 = 64 << 20;

/// More threads than this only compete for the disk.
const MAX_THREADS: usize = 8;

/// Cost of a task whatever its size, so that a million empty files are bounded too.
const TASK_BYTES: u64 = 16 << 10;

/// How often a waiting consumer looks whether it was cancelled.
const CANCEL_POLL: Duration = Duration::from_millis(20);

/// Returns how many workers this machine can feed.
pub fn threads() -> usize {
    thread::available_parallelism().map_or(2, |threads| threads.get().min(MAX_THREADS))
}

/// Results of tasks, in order.
pub struct Pipeline<T, R> {
    shared: Arc<Shared<T, R>>,
    taken: usize,
    total: usize,
}

struct Shared<T, R> {
    state: Mutex<State<T, R>>,
    changed: Condvar,
    budget: u64,
}

struct State<T, R> {
    waiting: VecDeque<T>,
    /// Number of the first task in `waiting`.
    next: usize,
    done: HashMap<usize, (R, u64)>,
    in_flight: u64,
    stopped: bool,
    /// Whether a worker panicked: its result will never come.
    broken: bool,
}

/// Tells whoever waits that a worker panicked.
struct Alarm<'a, T, R>(&'a Shared<T, R>);

impl<T, R> Drop for Alarm<'_, T, R> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.lock().broken = true;
            self.0.changed.notify_all();
        }
    }
}

impl<T: Send + 'static, R: Send + 'static> Pipeline<T, R> {
    /// Starts `threads` workers on `tasks`. `size` is an estimate of the bytes a task occupies, `work` returns
    /// a result and how many bytes that occupies, and `budget` is what all tasks begun and not yet taken may
    /// occupy together.
    pub fn start(
        tasks: Vec<T>,
        threads: usize,
        budget: u64,
        size: impl Fn(&T) -> u64 + Send + Sync + 'static,
        work: impl Fn(T) -> (R, u64) + Send + Sync + 'static,
    ) -> Self {
        let total = tasks.len();
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                waiting: tasks.into(),
                next: 0,
                done: HashMap::new(),
                in_flight: 0,
                stopped: false,
                broken: false,
            }),
            changed: Condvar::new(),
            budget,
        });
        let job = Arc::new((size, work));
        for _ in 0..threads.min(total) {
            let (shared, job) = (Arc::clone(&shared), Arc::clone(&job));
            thread::spawn(move || shared.work(&job.0, &job.1));
        }
        Self {
            shared,
            taken: 0,
            total,
        }
    }

    /// Waits for the result of the next task; `None` after the last.
    ///
    /// # Errors
    ///
    /// `cancelled`; `internal_error` if a worker panicked.
    pub fn next(&mut self, cancel: &CancelFlag) -> Result<Option<R>, RpcError> {
        if self.taken == self.total {
            return Ok(None);
        }
        let mut state = self.shared.lock();
        loop {
            cancel.check()?;
            if let Some((result, size)) = state.done.remove(&self.taken) {
                state.in_flight -= size;
                self.taken += 1;
                self.shared.changed.notify_all();
                return Ok(Some(result));
            }
            if state.broken {
                let why = "a worker thread panicked";
                let code = dpe_connector::ErrorCode::InternalError;
                return Err(RpcError::new(code, why));
            }
            state = self
                .shared
                .changed
                .wait_timeout(state, CANCEL_POLL)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}

impl<T, R> Shared<T, R> {
    fn lock(&self) -> MutexGuard<'_, State<T, R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, size: &impl Fn(&T) -> u64, work: &impl Fn(T) -> (R, u64)) {
        let _alarm = Alarm(self);
        while let Some((number, task, bytes)) = self.begin(size) {
            let (result, weight) = work(task);
            let weight = weight.saturating_add(TASK_BYTES);
            let mut state = self.lock();
            // A small file may have made a large document, and a large picture a small one.
            state.in_flight = (state.in_flight - bytes).saturating_add(weight);
            state.done.insert(number, (result, weight));
            self.changed.notify_all();
        }
    }

    /// Waits until the next task fits the budget. One task always does, or the consumer would
    /// wait for ever for one that exceeds it; the one that it waits for has begun, since they begin in order.
    fn begin(&self, size: &impl Fn(&T) -> u64) -> Option<(usize, T, u64)> {
        let mut state = self.lock();
        loop {
            if state.stopped {
                return None;
            }
            let bytes = size(state.waiting.front()?).saturating_add(TASK_BYTES);
            if state.in_flight == 0 || state.in_flight.saturating_add(bytes) <= self.budget {
                let task = state.waiting.pop_front()?;
                let number = state.next;
                state.next += 1;
                state.in_flight += bytes;
                return Some((number, task, bytes));
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl<T, R> Drop for Pipeline<T, R> {
    /// Tells the workers to stop after the task at hand. They are not waited for: a plugin that is
    /// told to go should not finish extracting a large file first.
    fn drop(&mut self) {
        self.shared.lock().stopped = true;
        self.shared.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    fn all<T: Send + 'static, R: Send + 'static>(mut pipeline: Pipeline<T, R>) -> Vec<R> {
        let cancel = CancelFlag::new();
        std::iter::from_fn(|| pipeline.next(&cancel).unwrap()).collect()
    }

    #[test]
    fn results_come_in_the_order_of_the_tasks() {
        let tasks: Vec<u64> = (0..200).collect();
        let pipeline = Pipeline::start(
            tasks.clone(),
            4,
            1 << 20,
            |_| 0,
            |task| {
                thread::sleep(Duration::from_micros((task * 7919) % 500));
                (task, task % 10 * 100_000)
            },
        );
        assert_eq!(all(pipeline), tasks);
    }

    #[test]
    fn workers_run_ahead_only_within_the_budget() {
        let begun = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&begun);
        let size = 1 << 20;
        let mut pipeline = Pipeline::start(
            (0..50).collect(),
            4,
            3 * size,
            move |_| size - TASK_BYTES,
            {
                move |task: u64| {
                    counter.fetch_add(1, Ordering::SeqCst);
                    (task, size - TASK_BYTES)
                }
            },
        );
        thread::sleep(Duration::from_millis(100));
        assert_eq!(begun.load(Ordering::SeqCst), 3);
        assert_eq!(pipeline.next(&CancelFlag::new()), Ok(Some(0)));
        thread::sleep(Duration::from_millis(100));
        assert_eq!(begun.load(Ordering::SeqCst), 4);
        assert_eq!(all(pipeline).len(), 49);
    }

    #[test]
    fn results_that_are_larger_than_their_tasks_keep_others_from_beginning() {
        let begun = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&begun);
        let mut pipeline = Pipeline::start(
            (0..50).collect(),
            1,
            3 << 20,
            |_| 0,
            move |task: u64| {
                counter.fetch_add(1, Ordering::SeqCst);
                (task, 1 << 20)
            },
        );
        thread::sleep(Duration::from_millis(100));
        assert_eq!(begun.load(Ordering::SeqCst), 3);
        assert_eq!(pipeline.next(&CancelFlag::new()), Ok(Some(0)));
        thread::sleep(Duration::from_millis(100));
        assert_eq!(begun.load(Ordering::SeqCst), 4);
        assert_eq!(all(pipeline).len(), 49);
    }

    #[test]
    fn a_task_above_the_budget_is_done_alone() {
        let pipeline = Pipeline::start(vec![1u64, 2, 3], 4, 10, |_| 1000, |task| (task, 1000));
        assert_eq!(all(pipeline), [1, 2, 3]);
    }

    #[test]
    fn a_waiting_consumer_is_cancelled() {
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let receiver = Mutex::new(receiver);
        let mut pipeline = Pipeline::start(
            vec![()],
            1,
            10,
            |()| 0,
            move |()| {
                let _ = receiver.lock().unwrap().recv();
                ((), 0)
            },
        );
        let cancel = CancelFlag::new();
        cancel.cancel();
        assert_eq!(pipeline.next(&cancel), Err(RpcError::cancelled()));
        drop(sender);
    }

    #[test]
    fn a_panic_of_a_worker_is_an_error_and_not_a_hang() {
        for threads in [1, 2] {
            let tasks = (0..10).collect();
            let work = |task| {
                assert_ne!(task, 0, "on purpose");
                ((), 0)
            };
            let mut pipeline = Pipeline::start(tasks, threads, 10, |_| 0, work);
            assert!(pipeline.next(&CancelFlag::new()).is_err());
        }
    }
}
