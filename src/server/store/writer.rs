//! The one thread that writes, in groups: requests that wait together share one transaction, each
//! under its own savepoint, and are answered after it is durable.
//!
//! A group of brief jobs only, such as uploads to a session, does not wait for the disk: it survives
//! the process, but a power cut may take it back as a whole, together with all that came after it.
//! The next group that waits makes it last, too.
//!
//! Knows nothing of documents; a job is a closure over the connection.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::{fmt, io};

use rusqlite::{Connection, ErrorCode};
use tokio::sync::oneshot;

use crate::server::store::damage::is_damage;

/// Most jobs in one transaction, so that the first one does not wait for ever.
const GROUP_MAX: usize = 256;

/// Sends an answer that was decided inside the transaction.
type Reply = Box<dyn FnOnce() + Send>;

/// Decides and writes inside the transaction.
type Work = Box<dyn FnOnce(&Connection) -> Result<Reply, (Failure, Reply)> + Send>;

struct Job {
    work: Work,
    lasting: Lasting,
}

/// What a write outlives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lasting {
    /// The process.
    Briefly,
    /// A power cut.
    ForGood,
}

/// Told about everything that keeps something from being written.
pub(super) type OnFailure = Box<dyn Fn(&str) + Send>;

/// The write could not be made durable; it had no effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum NotWritten {
    /// The same write may be done later.
    #[default]
    ForNow,
    /// It may be done when somebody has made room.
    DiskFull,
    /// It fails again until a person does something about the store.
    Lasting,
}

/// Why a job was not done; its reply then says so.
enum Failure {
    Database(rusqlite::Error),
    /// It panicked with this message.
    Defect(String),
}

/// Handle of the writer thread; dropping it lets the thread finish what is queued and waits.
#[derive(Debug)]
pub(super) struct Writer {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    /// Why a transaction failed last. What lasts stays.
    failed: Arc<Mutex<NotWritten>>,
}

impl Writer {
    /// Starts the thread, which owns `connection` from now on.
    pub(super) fn start(connection: Connection, on_failure: OnFailure) -> std::io::Result<Self> {
        let (sender, receiver) = mpsc::channel();
        let failed = Arc::<Mutex<NotWritten>>::default();
        let seen = Arc::clone(&failed);
        let thread = thread::Builder::new()
            .name("dpe-store".to_owned())
            .spawn(move || run(&connection, &receiver, &on_failure, &seen))?;
        Ok(Self {
            jobs: Some(sender),
            thread: Some(thread),
            failed,
        })
    }

    /// Runs `work` in a transaction and returns its result once that transaction is durable.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, NotWritten> {
        self.run(Lasting::ForGood, work).await
    }

    /// Runs `work` in a transaction and returns its result once that has ended: for what may be
    /// lost in a power cut, as long as everybody finds out.
    pub(super) async fn write_briefly<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, NotWritten> {
        self.run(Lasting::Briefly, work).await
    }

    async fn run<T: Send + 'static>(
        &self,
        lasting: Lasting,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, NotWritten> {
        let (answer, answered) = oneshot::channel();
        let work: Work = Box::new(move |connection| {
            // One request that meets a defect must not take the store from all later ones.
            let failure = match panic::catch_unwind(AssertUnwindSafe(|| work(connection))) {
                Ok(Ok(result)) => return Ok(Box::new(move || drop(answer.send(Ok(result))))),
                Ok(Err(error)) => Failure::Database(error),
                Err(panic) => Failure::Defect(message(&*panic)),
            };
            let why = failure.why();
            let refuse = move || drop(answer.send(Err(why)));
            Err((failure, Box::new(refuse)))
        });
        // A job whose transaction fails is dropped, and its channel with it.
        let dropped = || *self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let jobs = self.jobs.as_ref().ok_or_else(dropped)?;
        jobs.send(Job { work, lasting }).map_err(|_| dropped())?;
        answered.await.map_err(|_| dropped())?
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

fn run(
    connection: &Connection,
    jobs: &Receiver<Job>,
    on_failure: &OnFailure,
    failed: &Mutex<NotWritten>,
) {
    // A job that has to wait for the disk does not join a group that does not.
    let mut left_over = None;
    while let Some(first) = left_over.take().or_else(|| jobs.recv().ok()) {
        // Dropped only after the failure is known: whoever waits for one of these asks why.
        let mut replies = Vec::new();
        let mut next = Some(first);
        match group(
            connection,
            &mut next,
            jobs,
            &mut left_over,
            &mut replies,
            on_failure,
        ) {
            Ok(()) => replies.into_iter().for_each(|reply| reply()),
            Err(error) => {
                let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                if *failed != NotWritten::Lasting {
                    *failed = NotWritten::because_of(&error);
                }
                drop(failed);
                on_failure(&error.to_string());
                if !connection.is_autocommit()
                    && let Err(error) = connection.execute_batch("ROLLBACK")
                {
                    on_failure(&error.to_string());
                }
            }
        }
    }
}

/// Runs the `next` job and whatever waits behind it, and commits. What could not be run or answered
/// is left where it is.
fn group(
    connection: &Connection,
    next: &mut Option<Job>,
    jobs: &Receiver<Job>,
    left_over: &mut Option<Job>,
    replies: &mut Vec<Reply>,
    on_failure: &OnFailure,
) -> rusqlite::Result<()> {
    let lasting = next.as_ref().map_or(Lasting::ForGood, |job| job.lasting);
    // A pragma acts when it is compiled, so it must not come out of the cache.
    connection.execute_batch(match lasting {
        Lasting::Briefly => "PRAGMA synchronous = NORMAL",
        Lasting::ForGood => "PRAGMA synchronous = FULL",
    })?;
    execute(connection, "BEGIN IMMEDIATE")?;
    while next.is_some() {
        execute(connection, "SAVEPOINT job")?;
        let Some(job) = next.take() else {
            break;
        };
        match (job.work)(connection) {
            Ok(reply) => replies.push(reply),
            Err((Failure::Database(error), refuse)) if connection.is_autocommit() => {
                replies.push(refuse);
                return Err(error);
            }
            Err((failure, refuse)) => {
                on_failure(&failure.to_string());
                execute(connection, "ROLLBACK TO job")?;
                refuse();
            }
        }
        execute(connection, "RELEASE job")?;
        if replies.len() < GROUP_MAX {
            *next = jobs.try_recv().ok();
        }
        if lasting == Lasting::Briefly
            && let Some(waits) = next.take_if(|job| job.lasting == Lasting::ForGood)
        {
            *left_over = Some(waits);
        }
    }
    execute(connection, "COMMIT")
}

impl NotWritten {
    fn because_of(error: &rusqlite::Error) -> Self {
        if is_damage(error) {
            Self::Lasting
        } else if error.sqlite_error_code() == Some(ErrorCode::DiskFull) {
            Self::DiskFull
        } else {
            Self::ForNow
        }
    }

    /// Returns what an error of a file beside the database means.
    pub(super) fn because_of_file(error: &io::Error) -> Self {
        use io::ErrorKind::{QuotaExceeded, StorageFull};
        match error.kind() {
            StorageFull | QuotaExceeded => Self::DiskFull,
            _ => Self::ForNow,
        }
    }
}

impl Failure {
    fn why(&self) -> NotWritten {
        match self {
            Self::Database(error) => NotWritten::because_of(error),
            Self::Defect(_) => NotWritten::Lasting,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database(error) => error.fmt(f),
            Self::Defect(message) => write!(f, "a defect of dpe: {message}"),
        }
    }
}

/// Returns what a panic said.
fn message(panic: &(dyn Any + Send)) -> String {
    let literal = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    literal
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}

fn execute(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex, mpsc};

    use rusqlite::Connection;

    use super::{NotWritten, Writer};

    /// A writer, and what it reports.
    fn writer() -> (Writer, Arc<Mutex<Vec<String>>>) {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch("CREATE TABLE t (n INTEGER UNIQUE) STRICT")
            .unwrap();
        let failures = Arc::<Mutex<Vec<String>>>::default();
        let reported = Arc::clone(&failures);
        let on_failure = Box::new(move |why: &str| reported.lock().unwrap().push(why.to_owned()));
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
    async fn only_jobs_that_must_outlive_a_power_cut_wait_for_the_disk() {
        let (writer, _) = writer();
        // 1 is NORMAL, which syncs at checkpoints only; 2 is FULL.
        let level = |connection: &Connection| {
            connection.query_row("PRAGMA synchronous", [], |row| row.get::<_, i64>(0))
        };
        for _ in 0..3 {
            assert_eq!(writer.write_briefly(level).await, Ok(1));
            assert_eq!(writer.write(level).await, Ok(2));
        }
        // Waiting together, a brief one may join the others, but not they a brief one.
        let (open, gate) = mpsc::channel::<()>();
        let blocked = writer.write_briefly(move |connection| {
            gate.recv().unwrap();
            level(connection)
        });
        let open_later = async {
            tokio::task::yield_now().await;
            open.send(()).unwrap();
        };
        let (first, second, third, fourth, ()) = tokio::join!(
            blocked,
            writer.write_briefly(level),
            writer.write(level),
            writer.write_briefly(level),
            open_later
        );
        assert_eq!((first, second, third, fourth), (Ok(1), Ok(1), Ok(2), Ok(2)));
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
        let refused = Err(NotWritten::ForNow);
        assert_eq!((good, bad, late), (Ok(1), refused, Ok(1)));
        assert_eq!(failures.lock().unwrap().len(), 1);
    }

    #[tokio::test]
    async fn full_disk_is_told_from_what_passes_by_itself() {
        let (writer, _) = writer();
        let full = writer
            .write(|connection| {
                // A limit of the database stands in for the disk: SQLite calls both full.
                connection.execute_batch("PRAGMA max_page_count = 20")?;
                connection.execute_batch("CREATE TABLE large (bytes BLOB) STRICT")?;
                connection.execute("INSERT INTO large VALUES (zeroblob(1000000))", [])
            })
            .await;
        assert_eq!(full, Err(NotWritten::DiskFull));
        assert_eq!(
            writer.write(|connection| insert(connection, 1)).await,
            Ok(1)
        );

        for (kind, why) in [
            (io::ErrorKind::StorageFull, NotWritten::DiskFull),
            (io::ErrorKind::QuotaExceeded, NotWritten::DiskFull),
            (io::ErrorKind::PermissionDenied, NotWritten::ForNow),
        ] {
            assert_eq!(NotWritten::because_of_file(&kind.into()), why, "{kind}");
        }
    }

    #[tokio::test]
    async fn defect_of_one_job_is_reported_and_takes_back_its_writes() {
        let (writer, failures) = writer();
        let defect: Result<(), _> = writer
            .write(|connection| {
                insert(connection, 3)?;
                panic!("a defect, printed by this test on purpose");
            })
            .await;
        let after = writer.write(|connection| insert(connection, 3)).await;
        assert_eq!((defect, after), (Err(NotWritten::Lasting), Ok(1)));
        let failures = failures.lock().unwrap();
        assert!(failures[0].contains("on purpose"), "{failures:?}");
        assert_eq!(failures.len(), 1);
    }
}
