/* Puts right what a parent may leave behind, before `main`.
 *
 * Standard output: where it is closed, Rust's runtime opens the null device in its place, and later
 * takes a refusal to write for a success. A result would be lost, and the exit code would say that all
 * is well. So, earlier still: where standard output is closed or cannot be written, a socket without
 * a peer takes its place. Writing to it fails, visibly.
 *
 * SIGHUP that a parent ignores, as `nohup` does, stays without effect although the program catches it: it
 * is blocked, and so never handed over.
 *
 * Signals: a parent that ignores the end of its children makes the system forget how ours ended. One
 * that blocks SIGTERM or SIGINT would leave nothing but SIGKILL to end us.
 *
 * It is C because the crate forbids unsafe code, which running before `main` is.
 */

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

static int writable(int descriptor) {
    int flags = fcntl(descriptor, F_GETFL);
    return flags != -1 && (flags & O_ACCMODE) != O_RDONLY;
}

static void refuse_lost_output(void) {
    if (writable(STDOUT_FILENO)) {
        return;
    }
    int deaf = socket(AF_UNIX, SOCK_DGRAM, 0);
    if (deaf == -1 || deaf == STDOUT_FILENO) {
        return;
    }
    dup2(deaf, STDOUT_FILENO);
    close(deaf);
}

static void keep_hangups_ignored(void) {
    struct sigaction inherited;
    if (sigaction(SIGHUP, NULL, &inherited) == 0 && inherited.sa_handler == SIG_IGN) {
        sigset_t hangup;
        sigemptyset(&hangup);
        sigaddset(&hangup, SIGHUP);
        sigprocmask(SIG_BLOCK, &hangup, NULL);
    }
}

static void hear_signals(void) {
    signal(SIGCHLD, SIG_DFL);
    sigset_t ending;
    sigemptyset(&ending);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGINT);
    sigprocmask(SIG_UNBLOCK, &ending, NULL);
}

__attribute__((constructor)) static void put_right(void) {
    refuse_lost_output();
    hear_signals();
    keep_hangups_ignored();
}
