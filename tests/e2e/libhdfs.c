/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Calls every function of libhdfs once on a cluster, and checks what it says. Run by libhdfs.bats:
 *   libhdfs all COMMAND   everything; COMMAND gets the process's number before the connection is closed
 *   libhdfs errors        a NameNode that is not there
 *   libhdfs connect       the default file system, and no more
 */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hdfs.h>

#define SIZE (3 * 1024 * 1024 + 17)

#define must(truth)                                                                                                    \
    do {                                                                                                               \
        if (!(truth)) {                                                                                                \
            fprintf(stderr, "line %d: %s; errno %d, %s\n", __LINE__, #truth, errno, strerror(errno));                  \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)
#define must_fail(call, with) must((call) && errno == (with))

static char *data, *back;

static void write_and_read(hdfsFS fs)
{
    hdfsFile file = hdfsOpenFile(fs, "/t/file", O_WRONLY | O_CREAT, 0, 0, 1 << 20);
    must(file && hdfsFileIsOpenForWrite(file) && !hdfsFileIsOpenForRead(file));
    must(hdfsWrite(fs, file, data, SIZE) == SIZE);
    must(hdfsWrite(fs, file, data, 0) == 0);
    must(hdfsFlush(fs, file) == 0 && hdfsHFlush(fs, file) == 0 && hdfsHSync(fs, file) == 0);
    must(hdfsTell(fs, file) == SIZE);
    must_fail(hdfsSeek(fs, file, 0) == -1, EBADF);
    must_fail(hdfsOpenFile(fs, "/t/file", O_WRONLY | O_APPEND, 0, 0, 0) == NULL, EBUSY);
    must(hdfsCloseFile(fs, file) == 0);

    for (int direct = 1; direct >= 0; direct--) {
        file = hdfsOpenFile(fs, "/t/file", O_RDONLY, 0, 0, 0);
        must(file && hdfsFileIsOpenForRead(file) && hdfsFileUsesDirectRead(file) == 1);
        must(hdfsAvailable(fs, file) == SIZE);
        if (!direct)
            hdfsFileDisableDirectRead(file);
        must(hdfsFileUsesDirectRead(file) == direct);
        memset(back, 0, SIZE);
        tSize done = 0, count;
        while ((count = hdfsRead(fs, file, back + done, SIZE - done)) > 0)
            done += count;
        must(count == 0 && done == SIZE && memcmp(data, back, SIZE) == 0);
        must(hdfsRead(fs, file, back, 1) == 0 && hdfsTell(fs, file) == SIZE);
        must(hdfsPread(fs, file, 5, back, SIZE) == SIZE - 5 && memcmp(data + 5, back, SIZE - 5) == 0);
        must(hdfsPread(fs, file, SIZE, back, 1) == 0);
        must(hdfsSeek(fs, file, 1000000) == 0 && hdfsTell(fs, file) == 1000000);
        must(hdfsRead(fs, file, back, 1) == 1 && back[0] == data[1000000]);
        must_fail(hdfsSeek(fs, file, SIZE + 1) == -1, EINVAL);
        must(hdfsUnbufferFile(file) == 0);
        must(hdfsRead(fs, file, back, 1) == 1 && back[0] == data[1000001]);
        must_fail(hdfsWrite(fs, file, data, 1) == -1, EBADF);
        must(hdfsCloseFile(fs, file) == 0);
    }
}

static void statistics(hdfsFS fs)
{
    hdfsFile file = hdfsOpenFile(fs, "/t/file", O_RDONLY, 0, 0, 0);
    struct hdfsReadStatistics *stats;
    must(hdfsPread(fs, file, 0, back, SIZE) == SIZE);
    must(hdfsFileGetReadStatistics(file, &stats) == 0);
    must(stats->totalBytesRead == SIZE && stats->totalZeroCopyBytesRead == 0);
    must(hdfsReadStatisticsGetRemoteBytesRead(stats) == (int64_t)(SIZE - stats->totalLocalBytesRead));
    hdfsFileFreeReadStatistics(stats);
    must(hdfsFileClearReadStatistics(file) == 0);
    must(hdfsFileGetReadStatistics(file, &stats) == 0 && stats->totalBytesRead == 0);
    hdfsFileFreeReadStatistics(stats);
    must(hdfsCloseFile(fs, file) == 0);
}

/* Blocks come over the network, so none can be mapped: a pool or nothing. */
static void zero_copy(hdfsFS fs)
{
    hdfsFile file = hdfsOpenFile(fs, "/t/file", O_RDONLY, 0, 0, 0);
    struct hadoopRzOptions *options = hadoopRzOptionsAlloc();
    must(options && hadoopRzOptionsSetSkipChecksum(options, 1) == 0);
    must_fail(hadoopReadZero(file, options, 1000) == NULL, EPROTONOSUPPORT);
    must_fail(hadoopRzOptionsSetByteBufferPool(options, "java/lang/Object") == -1, EINVAL);
    must(hadoopRzOptionsSetByteBufferPool(options, ELASTIC_BYTE_BUFFER_POOL_CLASS) == 0);
    tSize done = 0, length;
    do {
        struct hadoopRzBuffer *buffer = hadoopReadZero(file, options, 1 << 20);
        must(buffer);
        length = hadoopRzBufferLength(buffer);
        must(length == 0 || memcmp(hadoopRzBufferGet(buffer), data + done, (size_t)length) == 0);
        must(length > 0 || !hadoopRzBufferGet(buffer));
        done += length;
        hadoopRzBufferFree(file, buffer);
    } while (length > 0);
    must(done == SIZE);
    hadoopRzOptionsFree(options);
    must(hdfsCloseFile(fs, file) == 0);
}

static void stream_builder(hdfsFS fs)
{
    struct hdfsStreamBuilder *bld = hdfsStreamBuilderAlloc(fs, "/t/built", O_WRONLY | O_EXCL);
    must(hdfsStreamBuilderSetBufferSize(bld, 8192) == 0 && hdfsStreamBuilderSetReplication(bld, 1) == 0);
    must(hdfsStreamBuilderSetDefaultBlockSize(bld, 2 << 20) == 0);
    hdfsFile file = hdfsStreamBuilderBuild(bld);
    must(file && hdfsWrite(fs, file, "12345", 5) == 5 && hdfsCloseFile(fs, file) == 0);
    must_fail(hdfsOpenFile(fs, "/t/built", O_WRONLY | O_EXCL, 0, 0, 0) == NULL, EEXIST);
    file = hdfsOpenFile(fs, "/t/built", O_WRONLY | O_APPEND, 0, 0, 0);
    must(file && hdfsTell(fs, file) == 5 && hdfsWrite(fs, file, "678", 3) == 3 && hdfsCloseFile(fs, file) == 0);
    hdfsFileInfo *info = hdfsGetPathInfo(fs, "/t/built");
    must(info && info->mSize == 8 && info->mBlockSize == 2 << 20 && info->mReplication == 1);
    hdfsFreeFileInfo(info, 1);
    int whole = hdfsTruncateFile(fs, "/t/built", 3);
    must(whole == 0 || whole == 1);
    for (tOffset size = -1, tries = 0; size != 3; tries++) { /* the DataNode cuts the block when it hears of it */
        must(tries < 600 && (info = hdfsGetPathInfo(fs, "/t/built")));
        size = info->mSize;
        hdfsFreeFileInfo(info, 1);
        usleep(size == 3 ? 0 : 200000);
    }
}

static void names(hdfsFS fs)
{
    static const char camel[] = "/t/\xc3\xa9 %20;\xf0\x9f\x90\xaa";
    must(hdfsExists(fs, "/t/file") == 0);
    must_fail(hdfsExists(fs, "/t/none") == -1, ENOENT);
    must(hdfsCreateDirectory(fs, camel) == 0);
    must_fail(hdfsCreateDirectory(fs, "/t/file/below") == -1, ENOTDIR);
    must_fail(hdfsCreateDirectory(fs, "/t/\xff") == -1, EILSEQ);
    must(hdfsCopy(fs, "/t/file", fs, "/t/copy") == 0 && hdfsMove(fs, "/t/copy", fs, "/t/moved") == 0);
    must_fail(hdfsExists(fs, "/t/copy") == -1, ENOENT);
    must(hdfsRename(fs, "/t/moved", "/t/renamed") == 0);
    must_fail(hdfsRename(fs, "/t/moved", "/t/other") == -1, ENOENT);
    must_fail(hdfsRename(fs, "/t/renamed", "/t/file") == -1, EEXIST);
    must(hdfsSetReplication(fs, "/t/renamed", 2) == 0);
    must_fail(hdfsSetReplication(fs, "/t/none", 2) == -1, ENOENT);
    must(hdfsChmod(fs, "/t/renamed", 0640) == 0 && hdfsChown(fs, "/t/renamed", "somebody", "some") == 0);
    must(hdfsChown(fs, "/t/renamed", NULL, "others") == 0 && hdfsUtime(fs, "/t/renamed", 1000000, 2000000) == 0);
    hdfsFileInfo *info = hdfsGetPathInfo(fs, "/t/renamed");
    must(info && info->mKind == kObjectKindFile && info->mSize == SIZE && info->mReplication == 2);
    must(info->mBlockSize > 0 && info->mPermissions == 0640 && !hdfsFileIsEncrypted(info));
    must(strcmp(info->mOwner, "somebody") == 0 && strcmp(info->mGroup, "others") == 0);
    must(info->mLastMod == 1000000 && info->mLastAccess == 2000000);
    must(strncmp(info->mName, "hdfs://", 7) == 0 && strstr(info->mName, "/t/renamed"));
    hdfsFreeFileInfo(info, 1);
    must_fail(hdfsGetPathInfo(fs, "/t/none") == NULL, ENOENT);

    int count = -1;
    hdfsFileInfo *entries = hdfsListDirectory(fs, "/t", &count);
    must(entries && count == 4);
    int found = 0;
    for (int i = 0; i < count; i++)
        found += strstr(entries[i].mName, camel) && entries[i].mKind == kObjectKindDirectory;
    must(found == 1);
    hdfsFreeFileInfo(entries, count);
    must(hdfsListDirectory(fs, camel, &count) == NULL && errno == 0 && count == 0);
    must_fail(hdfsListDirectory(fs, "/t/none", &count) == NULL, ENOENT);
    must_fail(hdfsDelete(fs, "/t", 0) == -1, ENOTEMPTY);
    must(hdfsDelete(fs, camel, 0) == 0);
    must_fail(hdfsDelete(fs, camel, 0) == -1, ENOENT);
}

static void places(hdfsFS fs)
{
    char folder[256], little[2];
    must(hdfsSetWorkingDirectory(fs, "/t") == 0);
    must(hdfsGetWorkingDirectory(fs, folder, sizeof(folder)) == folder && strstr(folder, "/t"));
    must_fail(hdfsGetWorkingDirectory(fs, little, sizeof(little)) == NULL, ERANGE);
    must(hdfsExists(fs, "file") == 0);
    char ***hosts = hdfsGetHosts(fs, "/t/file", 0, SIZE);
    must(hosts && hosts[0] && hosts[0][0] && hosts[3] && !hosts[4]);
    hdfsFreeHosts(hosts);
    must_fail(hdfsGetHosts(fs, "/t/none", 0, 1) == NULL, ENOENT);
    must(hdfsGetDefaultBlockSize(fs) > 0 && hdfsGetDefaultBlockSizeAtPath(fs, "/t") > 0);
    must(hdfsGetCapacity(fs) > SIZE && hdfsGetUsed(fs) >= 0);
}

static void configuration(void)
{
    char *text = NULL;
    int32_t number = 3;
    must(hdfsConfGetStr("fs.defaultFS", &text) == 0 && strncmp(text, "hdfs://", 7) == 0);
    hdfsConfStrFree(text);
    must(hdfsConfGetStr("no.such.key", &text) == 0 && !text);
    must(hdfsConfGetInt("no.such.key", &number) == 0 && number == 3);
    must(hdfsConfGetInt("io.file.buffer.size", &number) == 0 && number > 3);
    must_fail(hdfsConfGetInt("fs.defaultFS", &number) == -1, EINVAL);
}

/* Another user, whom the NameNode refuses; a file system of one's own, and one that is shared. */
static void users(hdfsFS fs)
{
    hdfsFS other = hdfsConnectAsUserNewInstance("default", 0, "stranger");
    must(other);
    must_fail(hdfsCreateDirectory(other, "/t/strange") == -1, EACCES);
    must(strstr(hdfsGetLastExceptionRootCause(), "Permission denied"));
    must(strstr(hdfsGetLastExceptionStackTrace(), "\n\tat org.apache.hadoop."));
    must(hdfsDisconnect(other) == 0);
    hdfsFS one = hdfsConnect("default", 0), two = hdfsConnect("default", 0), own = hdfsConnectNewInstance("default", 0);
    hdfsFS as = hdfsConnectAsUser("default", 0, "stranger");
    must(one && two && own && as && hdfsDisconnect(one) == 0);
    must(hdfsExists(two, "/t/file") == 0); /* which is not closed with the first */
    must(hdfsDisconnect(two) == 0 && hdfsDisconnect(own) == 0 && hdfsDisconnect(as) == 0);
    must(hdfsExists(fs, "/t/file") == 0);
    hdfsFS local = hdfsConnect(NULL, 0);
    struct hdfsReadStatistics *stats;
    must(local && hdfsExists(local, "/etc/passwd") == 0);
    hdfsFile file = hdfsOpenFile(local, "/etc/passwd", O_RDONLY, 0, 0, 0);
    must(file && hdfsFileUsesDirectRead(file) == 0 && hdfsRead(local, file, back, 10) > 0);
    must_fail(hdfsFileGetReadStatistics(file, &stats) == -1, EINVAL);
    must(hdfsCloseFile(local, file) == 0 && hdfsDisconnect(local) == 0);
}

static void *in_a_thread(void *argument)
{
    hdfsFS fs = argument;
    char part[4096];
    hdfsFile file = hdfsOpenFile(fs, "/t/file", O_RDONLY, 0, 0, 0);
    for (int i = 0; i < 20; i++)
        must(hdfsPread(fs, file, i * 100000, part, sizeof(part)) == sizeof(part) &&
             memcmp(part, data + i * 100000, sizeof(part)) == 0);
    must_fail(hdfsExists(fs, "/t/none") == -1, ENOENT);
    must_fail(hdfsGetPathInfo(fs, "/t/none") == NULL, ENOENT);
    must(strstr(hdfsGetLastExceptionRootCause(), "FileNotFoundException"));
    must(hdfsCloseFile(fs, file) == 0);
    return NULL;
}

static void threads(hdfsFS fs)
{
    for (int round = 0; round < 3; round++) { /* those of an earlier round have ended, and were detached */
        pthread_t thread[4];
        for (int i = 0; i < 4; i++)
            must(pthread_create(&thread[i], NULL, in_a_thread, fs) == 0);
        for (int i = 0; i < 4; i++)
            must(pthread_join(thread[i], NULL) == 0);
    }
}

/* A child of fork() has no JVM, and is told so. */
static void forked(hdfsFS fs)
{
    pid_t child = fork();
    if (child == 0)
        _exit(hdfsExists(fs, "/t/file") == -1 && errno == ENOTSUP ? 0 : 1);
    int status = -1;
    must(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

static void all(const char *command)
{
    data = malloc(SIZE), back = malloc(SIZE);
    must(data && back);
    for (size_t i = 0; i < SIZE; i++)
        data[i] = (char)(i * 2654435761u >> 24);
    struct hdfsBuilder *bld = hdfsNewBuilder();
    hdfsBuilderSetNameNode(bld, "default");
    hdfsBuilderSetForceNewInstance(bld);
    must(hdfsBuilderConfSetStr(bld, "dfs.replication", "1") == 0);
    hdfsFS fs = hdfsBuilderConnect(bld);
    must(fs && hdfsCreateDirectory(fs, "/t") == 0);
    write_and_read(fs);
    statistics(fs);
    zero_copy(fs);
    stream_builder(fs);
    names(fs);
    places(fs);
    configuration();
    users(fs);
    threads(fs);
    forked(fs);
    char line[512];
    snprintf(line, sizeof(line), "%s %d", command, (int)getpid());
    must(system(line) == 0);
    must(hdfsDelete(fs, "/t", 1) == 0 && hdfsDisconnect(fs) == 0);
    free(data);
    free(back);
    puts("all is well");
}

static void errors(void)
{
    struct hdfsBuilder *bld = hdfsNewBuilder();
    hdfsBuilderSetNameNode(bld, "localhost");
    hdfsBuilderSetNameNodePort(bld, 1); /* nobody listens there */
    hdfsBuilderConfSetStr(bld, "ipc.client.connect.max.retries", "0");
    hdfsFS fs = hdfsBuilderConnect(bld);
    must(fs);
    must_fail(hdfsExists(fs, "/") == -1, ECONNREFUSED);
    must(hdfsDisconnect(fs) == 0);
    must_fail(hdfsConnect("hdfs://localhost:9000", 9001) == NULL, EINVAL);
    must_fail(hdfsConnect("no such scheme://x", 0) == NULL, EINVAL);
    puts("all is well");
}

int main(int count, char **arguments)
{
    if (count == 3 && strcmp(arguments[1], "all") == 0) {
        all(arguments[2]);
    } else if (count == 2 && strcmp(arguments[1], "errors") == 0) {
        errors();
    } else {
        must(hdfsConnect("default", 0));
        puts("connected");
    }
    return 0;
}
