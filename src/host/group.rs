//! The process group of a plugin: everything it started ends with it (connector contract §17).

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Child;

/// A group that is killed when this value goes away.
#[derive(Debug)]
pub(super) struct ProcessGroup {
    leader: Option<Pid>,
}

impl ProcessGroup {
    /// Takes charge of the group led by `child`, which was started as its leader.
    pub(super) fn of(child: &Child) -> Self {
        let leader = child.id().and_then(|id| i32::try_from(id).ok());
        Self {
            leader: leader.and_then(Pid::from_raw),
        }
    }

    /// Asks every member to end.
    pub(super) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Ends every member. To be called once more when the leader has been waited for, since its
    /// children live on; afterwards the number may belong to somebody else.
    pub(super) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Ends what the leader left behind, and forgets the group.
    pub(super) fn dissolve(&mut self) {
        self.kill();
        self.leader = None;
    }

    fn signal(&self, signal: Signal) {
        if let Some(leader) = self.leader {
            // Fails only if nobody is left.
            let _ = kill_process_group(leader, signal);
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}
