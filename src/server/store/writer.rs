//! The one thread that writes, in groups: requests that wait together share one transaction, each
//! under its own savepoint, and are answered after it is durable.
//!
//! Knows nothing of documents; a job is a closure over the connection.

use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use tokio::sync::oneshot;

/// Most jobs in one transaction, so that the first one does not wait for ever.
const GROUP_MAX: usize = 256;

/// Sends an answer that was decided inside the transaction.
type Reply = Box<dyn FnOnce() + Send>;

/// Decides and writes inside the transaction.
type Job = Box<dyn FnOnce(&Connection) -> rusqlite::Result<Reply> + Send>;

/// Told about every failure of the database.
pub(super) type OnFailure = Box<dyn Fn(&rusqlite::Error) + Send>;

/// The write could not be made durable; it had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotWritten;

/// Handle of the writer thread; dropping it lets the thread finish what is queued and waits.
#[derive(Debug)]
pub(super) struct Writer {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread, which owns `connection` from now on.
    pub(super) fn start(connection: Connection, on_failure: OnFailure) -> std::io::Result<Self> {
        let (sender, receiver) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("dpe-store".to_owned())
            .spawn(move || run(&connection, &receiver, &on_failure))?;
        Ok(Self {
            jobs: Some(sender),
            thread: Some(thread),
        })
    }

    /// Runs `work` in a transaction and returns its result once that transaction is durable.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, NotWritten> {
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |connection| {
            let result = work(connection)?;
            Ok(Box::new(move || drop(answer.send(result))))
        });
        let jobs = self.jobs.as_ref().ok_or(NotWritten)?;
        jobs.send(job).map_err(|_| NotWritten)?;
        // A job whose transaction fails is dropped, and its channel with it.
        answered.await.map_err(|_| NotWritten)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // The thread ends when the queue is empty; a panic in it was reported already.
            let _ = thread.join();
        }
    }
}

fn run(connection: &Connection, jobs: &Receiver<Job>, on_failure: &OnFailure) {
    while let Ok(first) = jobs.recv() {
        match group(connection, first, jobs, on_failure) {
            Ok(replies) => replies.into_iter().for_each(|reply| reply()),
            Err(error) => {
                on_failure(&error);
                if !connection.is_autocommit()
                    && let Err(error) = connection.execute_batch("ROLLBACK")
                {
                    on_failure(&error);
                }
            }
        }
    }
}

/// Runs `first` and whatever waits behind it, and commits.
fn group(
    connection: &Connection,
    first: Job,
    jobs: &Receiver<Job>,
    on_failure: &OnFailure,
) -> rusqlite::Result<Vec<Reply>> {
    execute(connection, "BEGIN IMMEDIATE")?;
    let mut replies = Vec::new();
    let mut next = Some(first);
    while let Some(job) = next {
        execute(connection, "SAVEPOINT job")?;
        // One request that meets a defect must not take the store from all later ones.
        match panic::catch_unwind(AssertUnwindSafe(|| job(connection))) {
            Ok(Ok(reply)) => replies.push(reply),
            Ok(Err(error)) if connection.is_autocommit() => return Err(error),
            Ok(Err(error)) => {
                on_failure(&error);
                execute(connection, "ROLLBACK TO job")?;
            }
            Err(_) => execute(connection, "ROLLBACK TO job")?,
        }
        execute(connection, "RELEASE job")?;
        next = (replies.len() < GROUP_MAX)
            .then(|| jobs.try_recv().ok())
            .flatten();
    }
    execute(connection, "COMMIT")?;
    Ok(replies)
}

fn execute(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use rusqlite::Connection;

    use super::{NotWritten, Writer};

    fn writer() -> (Writer, Arc<AtomicUsize>) {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch("CREATE TABLE t (n INTEGER UNIQUE) STRICT")
            .unwrap();
        let failures = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&failures);
        let on_failure = Box::new(move |_: &rusqlite::Error| {
            count.fetch_add(1, Ordering::SeqCst);
        });
        (Writer::start(connection, on_failure).unwrap(), failures)
    }

    fn insert(connection: &Connection, number: i64) -> rusqlite::Result<usize> {
        connection.execute("INSERT INTO t VALUES (?1)", [number])
    }

    #[tokio::test]
    async fn jobs_that_wait_together_share_one_transaction() {
        let (writer, _) = writer();
        let (open, gate) = mpsc::channel::<()>();
        let blocked = writer.write(move |connection| {
            gate.recv().unwrap();
            insert(connection, 0)
        });
        // Each later job sees what the earlier ones wrote but did not commit: the connection is
        // inside a transaction that none of them began.
        let inside = |number| {
            writer.write(move |connection| {
                assert!(!connection.is_autocommit());
                insert(connection, number)?;
                connection.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0))
            })
        };
        let open_later = async {
            tokio::task::yield_now().await;
            open.send(()).unwrap();
        };
        let (first, second, third, ()) = tokio::join!(blocked, inside(1), inside(2), open_later);
        assert_eq!((first, second, third), (Ok(1), Ok(2), Ok(3)));
    }

    #[tokio::test]
    async fn failing_job_takes_back_only_its_own_writes() {
        let (writer, failures) = writer();
        let (good, bad, late) = tokio::join!(
            writer.write(|connection| insert(connection, 1)),
            writer.write(|connection| {
                insert(connection, 2)?;
                insert(connection, 1)
            }),
            writer.write(|connection| insert(connection, 2)),
        );
        assert_eq!((good, bad, late), (Ok(1), Err(NotWritten), Ok(1)));
        let defect: Result<(), _> = writer
            .write(|connection| {
                insert(connection, 3)?;
                panic!("a defect, printed by this test on purpose");
            })
            .await;
        let after = writer.write(|connection| insert(connection, 3)).await;
        assert_eq!((defect, after), (Err(NotWritten), Ok(1)));
        assert_eq!(failures.load(Ordering::SeqCst), 1);
    }
}
