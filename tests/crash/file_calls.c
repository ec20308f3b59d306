/* Ends the process at its n-th call that changes a file below a directory.
 *
 * Loaded with LD_PRELOAD. Nothing happens until minutebook_arm() is called: then every write, truncation, sync,
 * creation, rename and removal below `root` is counted, and the one asked for is not carried out, or, torn, only
 * the first half of it. The kernel keeps what was written before, as after kill -9.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static char root[PATH_MAX];
static size_t root_length;
static atomic_long calls;
static long fatal;
static int torn;

void minutebook_arm(const char *directory, long at, int tear) {
    strncpy(root, directory, sizeof root - 1);
    root_length = strlen(root);
    fatal = at;
    torn = tear;
    atomic_store(&calls, 0);
}

long minutebook_calls(void) { return atomic_load(&calls); }

static void *next(const char *name) { return dlsym(RTLD_NEXT, name); }

#define REAL(result, name, ...)                                     \
    static result (*real)(__VA_ARGS__);                             \
    if (!real) real = (result(*)(__VA_ARGS__))next(name)

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

/* Whether this call is one that counts, and the one to die at. */
static int reached(void) { return atomic_fetch_add(&calls, 1) + 1 == fatal; }

static int below(const char *path) { return root_length && strncmp(path, root, root_length) == 0; }

static int fd_below(int fd) {
    char link[64], path[PATH_MAX];
    if (!root_length) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return below(path);
}

static int path_below(int directory, const char *path) {
    if (!root_length) return 0;
    if (path[0] == '/') return below(path);
    return directory == AT_FDCWD ? 0 : fd_below(directory);
}

ssize_t write(int fd, const void *data, size_t size) {
    REAL(ssize_t, "write", int, const void *, size_t);
    if (fd_below(fd) && reached()) {
        if (torn) real(fd, data, size / 2);
        die();
    }
    return real(fd, data, size);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) {
    REAL(ssize_t, "pwrite64", int, const void *, size_t, off64_t);
    if (fd_below(fd) && reached()) {
        if (torn) real(fd, data, size / 2, offset);
        die();
    }
    return real(fd, data, size, offset);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) { return pwrite64(fd, data, size, offset); }

int ftruncate64(int fd, off64_t length) {
    REAL(int, "ftruncate64", int, off64_t);
    if (fd_below(fd) && reached()) die();
    return real(fd, length);
}

int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

int fsync(int fd) {
    REAL(int, "fsync", int);
    if (fd_below(fd) && reached()) die();
    return real(fd);
}

int fdatasync(int fd) {
    REAL(int, "fdatasync", int);
    if (fd_below(fd) && reached()) die();
    return real(fd);
}

int rename(const char *from, const char *to) {
    REAL(int, "rename", const char *, const char *);
    if (path_below(AT_FDCWD, to) && reached()) die();
    return real(from, to);
}

int renameat(int from_directory, const char *from, int to_directory, const char *to) {
    REAL(int, "renameat", int, const char *, int, const char *);
    if (path_below(to_directory, to) && reached()) die();
    return real(from_directory, from, to_directory, to);
}

int unlink(const char *path) {
    REAL(int, "unlink", const char *);
    if (path_below(AT_FDCWD, path) && reached()) die();
    return real(path);
}

int unlinkat(int directory, const char *path, int flags) {
    REAL(int, "unlinkat", int, const char *, int);
    if (path_below(directory, path) && reached()) die();
    return real(directory, path, flags);
}

static void creating(int directory, const char *path, int flags) {
    if ((flags & (O_CREAT | O_TRUNC)) && path_below(directory, path) && reached()) die();
}

#define MODE(flags)                              \
    mode_t mode = 0;                             \
    if ((flags) & (O_CREAT | O_TMPFILE)) {       \
        va_list rest;                            \
        va_start(rest, flags);                   \
        mode = va_arg(rest, mode_t);             \
        va_end(rest);                            \
    }

int open64(const char *path, int flags, ...) {
    REAL(int, "open64", const char *, int, ...);
    MODE(flags);
    creating(AT_FDCWD, path, flags);
    return real(path, flags, mode);
}

int open(const char *path, int flags, ...) {
    REAL(int, "open", const char *, int, ...);
    MODE(flags);
    creating(AT_FDCWD, path, flags);
    return real(path, flags, mode);
}

int openat64(int directory, const char *path, int flags, ...) {
    REAL(int, "openat64", int, const char *, int, ...);
    MODE(flags);
    creating(directory, path, flags);
    return real(directory, path, flags, mode);
}

int openat(int directory, const char *path, int flags, ...) {
    REAL(int, "openat", int, const char *, int, ...);
    MODE(flags);
    creating(directory, path, flags);
    return real(directory, path, flags, mode);
}
