/*
 * A file system that shows another folder, with faults: faultfs [-c] CONTROL SOURCE MOUNTPOINT [OPTION...]
 *
 * CONTROL is a file of rules, one a line, read again at each call while it changes:
 *     CALL EIO|ENOSPC|ESTALE|EROFS   the call fails
 *     CALL hang                      the call waits until the rule is gone
 *     CALL delay MILLISECONDS        the call takes so much longer
 *     CALL pace MEGABYTES            all calls together move so many MiB a second (read and write)
 * CALL is one of: look (attributes, lists, statfs), open (create, too), read, write, sync, change (rename, unlink,
 * links, folders, truncate), or * for all. The first rule that fits counts. An empty file, or none, means no faults.
 *
 * -c: the kernel keeps what was read and holds writes back, as for a disk. Without, a fault shows at once.
 */
#define FUSE_USE_VERSION 31
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

static const char *control;
static const char *source;
static int cached;

static void sleep_ms(long ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};

    while (nanosleep(&time, &time) && errno == EINTR)
        ;
}

/* Waits for this call's turn on a disk that moves `pace` MiB a second. */
static void move(size_t bytes, long pace)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static long long idle_from; /* nanoseconds of CLOCK_MONOTONIC */
    struct timespec now, turn;

    pthread_mutex_lock(&lock);
    clock_gettime(CLOCK_MONOTONIC, &now);
    long long nanoseconds = now.tv_sec * 1000000000LL + now.tv_nsec;
    idle_from = (idle_from > nanoseconds ? idle_from : nanoseconds) + bytes * 1000000000LL / ((long long)pace << 20);
    turn.tv_sec = idle_from / 1000000000;
    turn.tv_nsec = idle_from % 1000000000;
    pthread_mutex_unlock(&lock);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &turn, NULL) == EINTR)
        ;
}

struct rule {
    int error;
    int hangs;
    long delay; /* ms */
    long pace;  /* MiB/s; 0: no limit */
};

static int error_of(const char *name)
{
    static const struct {
        const char *name;
        int error;
    } errors[] = {{"EIO", EIO}, {"ENOSPC", ENOSPC}, {"ESTALE", ESTALE}, {"EROFS", EROFS}};

    for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
        if (!strcmp(name, errors[i].name))
            return errors[i].error;
    return 0;
}

static struct rule rule_for(const char *call)
{
    struct rule rule = {0, 0, 0, 0};
    char line[128], which[32], what[32];
    FILE *file = fopen(control, "re");

    while (file && fgets(line, sizeof(line), file)) {
        long number = 0;
        if (sscanf(line, "%31s %31s %ld", which, what, &number) < 2 || (strcmp(which, "*") && strcmp(which, call)))
            continue;
        rule.error = error_of(what);
        rule.hangs = !strcmp(what, "hang");
        *(strcmp(what, "pace") ? &rule.delay : &rule.pace) = number;
        break;
    }
    if (file)
        fclose(file);
    return rule;
}

/* Returns 0, or the error (negative) that the call, which moves `bytes`, is to fail with. */
static int fault_of(const char *call, size_t bytes)
{
    struct rule rule = rule_for(call);

    while (rule.hangs) {
        sleep_ms(20);
        rule = rule_for(call);
    }
    if (rule.delay > 0)
        sleep_ms(rule.delay);
    if (rule.pace > 0)
        move(bytes, rule.pace);
    return -rule.error;
}

static int fault(const char *call)
{
    return fault_of(call, 0);
}

static int result(long done)
{
    return done < 0 ? -errno : 0;
}

/* Sets `full` to the path in the source; returns from the caller where a fault is due or the path is too long. */
#define BEGIN(call, path)                                                                                              \
    char full[PATH_MAX];                                                                                               \
    int due = fault(call);                                                                                             \
    if (due)                                                                                                           \
        return due;                                                                                                    \
    if (snprintf(full, sizeof(full), "%s%s", source, path) >= (int)sizeof(full))                                       \
    return -ENAMETOOLONG

static int fs_getattr(const char *path, struct stat *status, struct fuse_file_info *info)
{
    BEGIN("look", path);
    (void)info;
    return result(lstat(full, status));
}

static int fs_readdir(const char *path, void *list, fuse_fill_dir_t fill, off_t offset, struct fuse_file_info *info,
                      enum fuse_readdir_flags flags)
{
    BEGIN("look", path);
    DIR *folder = opendir(full);
    (void)offset, (void)info, (void)flags;
    if (!folder)
        return -errno;
    for (struct dirent *entry; (entry = readdir(folder));)
        fill(list, entry->d_name, NULL, 0, 0);
    closedir(folder);
    return 0;
}

static int fs_statfs(const char *path, struct statvfs *status)
{
    BEGIN("look", path);
    return result(statvfs(full, status));
}

/*
 * A kernel that holds writes back reads what is around them, and knows the end of the file. What goes past its cache
 * does not go past this process's buffers, which are not aligned.
 */
static int open_flags(int flags)
{
    flags &= ~O_DIRECT;
    if (!cached)
        return flags;
    return ((flags & O_ACCMODE) == O_WRONLY ? (flags & ~O_ACCMODE) | O_RDWR : flags) & ~O_APPEND;
}

static int opened(int file, struct fuse_file_info *info)
{
    if (file < 0)
        return -errno;
    info->fh = file;
    info->keep_cache = cached;
    return 0;
}

static int fs_open(const char *path, struct fuse_file_info *info)
{
    BEGIN("open", path);
    return opened(open(full, open_flags(info->flags)), info);
}

static int fs_create(const char *path, mode_t mode, struct fuse_file_info *info)
{
    BEGIN("open", path);
    return opened(open(full, open_flags(info->flags), mode), info);
}

static int fs_release(const char *path, struct fuse_file_info *info)
{
    (void)path;
    return result(close(info->fh));
}

static int fs_read(const char *path, char *bytes, size_t size, off_t offset, struct fuse_file_info *info)
{
    int due = fault_of("read", size);
    ssize_t done;

    (void)path;
    if (due)
        return due;
    done = pread(info->fh, bytes, size, offset);
    return done < 0 ? -errno : (int)done;
}

static int fs_write(const char *path, const char *bytes, size_t size, off_t offset, struct fuse_file_info *info)
{
    int due = fault_of("write", size);
    ssize_t done;

    (void)path;
    if (due)
        return due;
    done = pwrite(info->fh, bytes, size, offset);
    return done < 0 ? -errno : (int)done;
}

static int fs_fsync(const char *path, int data_only, struct fuse_file_info *info)
{
    int due = fault("sync");

    (void)path;
    return due ? due : result(data_only ? fdatasync(info->fh) : fsync(info->fh));
}

static int fs_fsyncdir(const char *path, int data_only, struct fuse_file_info *info)
{
    (void)path, (void)data_only, (void)info;
    return fault("sync");
}

static int fs_truncate(const char *path, off_t size, struct fuse_file_info *info)
{
    BEGIN("change", path);
    return result(info ? ftruncate(info->fh, size) : truncate(full, size));
}

static int fs_rename(const char *from, const char *to, unsigned int flags)
{
    BEGIN("change", from);
    char target[PATH_MAX];
    if (flags || snprintf(target, sizeof(target), "%s%s", source, to) >= (int)sizeof(target))
        return -EINVAL;
    return result(rename(full, target));
}

static int fs_link(const char *from, const char *to)
{
    BEGIN("change", from);
    char target[PATH_MAX];
    if (snprintf(target, sizeof(target), "%s%s", source, to) >= (int)sizeof(target))
        return -ENAMETOOLONG;
    return result(link(full, target));
}

static int fs_symlink(const char *text, const char *path)
{
    BEGIN("change", path);
    return result(symlink(text, full));
}

static int fs_readlink(const char *path, char *text, size_t size)
{
    BEGIN("look", path);
    ssize_t length = readlink(full, text, size - 1);
    if (length >= 0)
        text[length] = 0;
    return result(length);
}

static int fs_unlink(const char *path)
{
    BEGIN("change", path);
    return result(unlink(full));
}

static int fs_mkdir(const char *path, mode_t mode)
{
    BEGIN("change", path);
    return result(mkdir(full, mode));
}

static int fs_rmdir(const char *path)
{
    BEGIN("change", path);
    return result(rmdir(full));
}

static int fs_chmod(const char *path, mode_t mode, struct fuse_file_info *info)
{
    BEGIN("change", path);
    (void)info;
    return result(chmod(full, mode));
}

static int fs_chown(const char *path, uid_t user, gid_t group, struct fuse_file_info *info)
{
    BEGIN("change", path);
    (void)info;
    return result(lchown(full, user, group));
}

static int fs_utimens(const char *path, const struct timespec times[2], struct fuse_file_info *info)
{
    BEGIN("change", path);
    (void)info;
    return result(utimensat(AT_FDCWD, full, times, AT_SYMLINK_NOFOLLOW));
}

static void *fs_init(struct fuse_conn_info *connection, struct fuse_config *config)
{
    if (cached) {
        connection->want |= connection->capable & FUSE_CAP_WRITEBACK_CACHE;
        return NULL;
    }
    /* Nothing is answered from the kernel's caches of names and attributes, so faults show at once. */
    config->attr_timeout = 0;
    config->entry_timeout = 0;
    config->negative_timeout = 0;
    return NULL;
}

static const struct fuse_operations operations = {
    .init = fs_init,
    .getattr = fs_getattr,
    .readdir = fs_readdir,
    .statfs = fs_statfs,
    .open = fs_open,
    .create = fs_create,
    .release = fs_release,
    .read = fs_read,
    .write = fs_write,
    .fsync = fs_fsync,
    .fsyncdir = fs_fsyncdir,
    .truncate = fs_truncate,
    .rename = fs_rename,
    .link = fs_link,
    .symlink = fs_symlink,
    .readlink = fs_readlink,
    .unlink = fs_unlink,
    .mkdir = fs_mkdir,
    .rmdir = fs_rmdir,
    .chmod = fs_chmod,
    .chown = fs_chown,
    .utimens = fs_utimens,
};

int main(int count, char **arguments)
{
    cached = count > 1 && !strcmp(arguments[1], "-c");
    if (cached) {
        arguments[1] = arguments[0];
        arguments++, count--;
    }
    if (count < 4) {
        fprintf(stderr, "usage: faultfs [-c] CONTROL SOURCE MOUNTPOINT [OPTION...]\n");
        return 2;
    }
    control = realpath(arguments[1], NULL);
    source = realpath(arguments[2], NULL);
    if (!control || !source) {
        perror("faultfs: a path that is not there");
        return 2;
    }
    arguments[2] = arguments[0];
    return fuse_main(count - 2, arguments + 2, &operations, NULL);
}
