/* Keeps the loss of standard output noticeable.
 *
 * Before `main`, Rust's runtime opens the null device in place of a standard stream that is closed,
 * and later takes a refusal to write to standard output for a success. A result would be lost and
 * the exit code would say that all is well. So, earlier still: where standard output is closed or
 * cannot be written, a socket without a peer takes its place. Writing to it fails, visibly.
 *
 * It is C because the crate forbids unsafe code, which running before `main` is.
 */

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

static int writable(int descriptor) {
    int flags = fcntl(descriptor, F_GETFL);
    return flags != -1 && (flags & O_ACCMODE) != O_RDONLY;
}

__attribute__((constructor)) static void refuse_lost_output(void) {
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
