/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBHDFS_HDFS_H
#define LIBHDFS_HDFS_H

/*
 * HDFS for C: the interface of Hadoop 2.8's libhdfs.
 *
 * Functions that return int return 0, and -1 with errno if they fail; functions that return a pointer return NULL with
 * errno then. Other results are named at the function. Paths are UTF-8. An argument that may not be NULL and is gives
 * EINVAL, a file that is NULL or of the wrong direction EBADF.
 *
 * errno after a failure, where the system's meaning does not say it all:
 *   EACCES        no permission, or authentication failed
 *   EBUSY         another client writes the file, or its lease is being recovered
 *   EDQUOT        a quota is used up
 *   EIO           Hadoop says no more than that input or output failed; a line on standard error has its message
 *   ELIBACC       no JVM, or no Hadoop on its class path; a line on standard error says what to set
 *   ENODATA       the data ended before its time
 *   ENOTSUP       the file system or stream cannot do that; or the process was forked after its JVM started
 *   EROFS         the NameNode is in safe mode
 *   EINTERNAL     an exception that has no errno
 *
 * All functions may be called from any thread. A file may be read by hdfsPread() from several threads at once; other
 * calls on one file follow each other. A thread that called one of these functions is attached to the JVM until it
 * ends.
 */

#include <errno.h>
#include <fcntl.h> /* O_RDONLY, O_WRONLY, O_APPEND, O_EXCL */
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#if defined(__GNUC__)
#define LIBHDFS_EXTERNAL __attribute__((visibility("default")))
#else
#define LIBHDFS_EXTERNAL
#endif

/* errno of an exception that has no other. */
#ifndef EINTERNAL
#define EINTERNAL 255
#endif

/* For hadoopRzOptionsSetByteBufferPool(). */
#define ELASTIC_BYTE_BUFFER_POOL_CLASS "org/apache/hadoop/io/ElasticByteBufferPool"

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t tSize;   /* bytes of one read or write */
typedef time_t tTime;    /* seconds since 1970 */
typedef int64_t tOffset; /* a place in a file, or its length */
typedef uint16_t tPort;

typedef enum tObjectKind {
    kObjectKindFile = 'F',
    kObjectKindDirectory = 'D',
} tObjectKind;

struct hdfs_internal;
typedef struct hdfs_internal *hdfsFS;
struct hdfsFile_internal;
typedef struct hdfsFile_internal *hdfsFile;
struct hdfsBuilder;
struct hdfsStreamBuilder;
struct hadoopRzOptions;
struct hadoopRzBuffer;

/* ---- connecting ---- */

/*
 * A builder collects what a connection needs. The setters copy their text. A name node is a host, host:port, a URI,
 * "default" for that of the configuration (fs.defaultFS), or NULL for the local file system; a port of 0 is the file
 * system's own.
 */
LIBHDFS_EXTERNAL struct hdfsBuilder *hdfsNewBuilder(void);
LIBHDFS_EXTERNAL void hdfsBuilderSetNameNode(struct hdfsBuilder *bld, const char *nn);
LIBHDFS_EXTERNAL void hdfsBuilderSetNameNodePort(struct hdfsBuilder *bld, tPort port);
/* NULL or "": the user of the process, or of its Kerberos ticket. */
LIBHDFS_EXTERNAL void hdfsBuilderSetUserName(struct hdfsBuilder *bld, const char *userName);
LIBHDFS_EXTERNAL void hdfsBuilderSetKerbTicketCachePath(struct hdfsBuilder *bld, const char *kerbTicketCachePath);
/* The connection is not shared with others to the same file system. */
LIBHDFS_EXTERNAL void hdfsBuilderSetForceNewInstance(struct hdfsBuilder *bld);
/* A property of the configuration, for this connection. */
LIBHDFS_EXTERNAL int hdfsBuilderConfSetStr(struct hdfsBuilder *bld, const char *key, const char *val);
LIBHDFS_EXTERNAL void hdfsFreeBuilder(struct hdfsBuilder *bld);
/* Frees the builder, too, whatever comes of it. The NameNode is not asked anything yet: if it is not there, the first
 * call on the connection fails. */
LIBHDFS_EXTERNAL hdfsFS hdfsBuilderConnect(struct hdfsBuilder *bld);

/* The same without a builder. */
LIBHDFS_EXTERNAL hdfsFS hdfsConnect(const char *nn, tPort port);
LIBHDFS_EXTERNAL hdfsFS hdfsConnectAsUser(const char *nn, tPort port, const char *user);
LIBHDFS_EXTERNAL hdfsFS hdfsConnectNewInstance(const char *nn, tPort port);
LIBHDFS_EXTERNAL hdfsFS hdfsConnectAsUserNewInstance(const char *nn, tPort port, const char *user);

/* The handle is freed in any case. A shared connection is closed with its last handle. */
LIBHDFS_EXTERNAL int hdfsDisconnect(hdfsFS fs);

/* A property of the default configuration; *val is NULL if it is not set, and is freed by hdfsConfStrFree(). */
LIBHDFS_EXTERNAL int hdfsConfGetStr(const char *key, char **val);
/* *val stays as it is if the property is not set. */
LIBHDFS_EXTERNAL int hdfsConfGetInt(const char *key, int32_t *val);
LIBHDFS_EXTERNAL void hdfsConfStrFree(char *val);

/* ---- files ---- */

/*
 * flags: O_RDONLY reads; O_WRONLY creates or overwrites, with O_EXCL creates only; O_WRONLY | O_APPEND appends. O_RDWR
 * gives ENOTSUP. bufferSize, replication and blocksize may be 0: the configuration's.
 */
LIBHDFS_EXTERNAL hdfsFile hdfsOpenFile(hdfsFS fs, const char *path, int flags, int bufferSize, short replication,
                                       tSize blocksize);

/* A builder of a file, for block sizes from 2 GB on. Options of writing give EINVAL where flags say reading. */
LIBHDFS_EXTERNAL struct hdfsStreamBuilder *hdfsStreamBuilderAlloc(hdfsFS fs, const char *path, int flags);
LIBHDFS_EXTERNAL void hdfsStreamBuilderFree(struct hdfsStreamBuilder *bld);
LIBHDFS_EXTERNAL int hdfsStreamBuilderSetBufferSize(struct hdfsStreamBuilder *bld, int32_t bufferSize);
LIBHDFS_EXTERNAL int hdfsStreamBuilderSetReplication(struct hdfsStreamBuilder *bld, int16_t replication);
LIBHDFS_EXTERNAL int hdfsStreamBuilderSetDefaultBlockSize(struct hdfsStreamBuilder *bld, int64_t defaultBlockSize);
/* Frees the builder, too, whatever comes of it. */
LIBHDFS_EXTERNAL hdfsFile hdfsStreamBuilderBuild(struct hdfsStreamBuilder *bld);

/* The handle is freed in any case; -1: data that was written may not be there. */
LIBHDFS_EXTERNAL int hdfsCloseFile(hdfsFS fs, hdfsFile file);

/* 1 or 0. */
LIBHDFS_EXTERNAL int hdfsFileIsOpenForRead(hdfsFile file);
LIBHDFS_EXTERNAL int hdfsFileIsOpenForWrite(hdfsFile file);

/* How many bytes came, which may be fewer than were asked for; 0 at the end of the file, -1 after an error. */
LIBHDFS_EXTERNAL tSize hdfsRead(hdfsFS fs, hdfsFile file, void *buffer, tSize length);
/* The same from a position, and without moving hdfsTell(); fewer than asked for only at the end of the file. */
LIBHDFS_EXTERNAL tSize hdfsPread(hdfsFS fs, hdfsFile file, tOffset position, void *buffer, tSize length);
/* Files that are read only; EINVAL beyond the end. */
LIBHDFS_EXTERNAL int hdfsSeek(hdfsFS fs, hdfsFile file, tOffset desiredPos);
/* -1 after an error. */
LIBHDFS_EXTERNAL tOffset hdfsTell(hdfsFS fs, hdfsFile file);
/* Bytes that can be read without waiting; -1 after an error. */
LIBHDFS_EXTERNAL int hdfsAvailable(hdfsFS fs, hdfsFile file);
/* Gives back buffers and sockets of a file that is not read for a while; ENOTSUP where a stream cannot. */
LIBHDFS_EXTERNAL int hdfsUnbufferFile(hdfsFile file);

/* length, or -1. */
LIBHDFS_EXTERNAL tSize hdfsWrite(hdfsFS fs, hdfsFile file, const void *buffer, tSize length);
/* To the stream below. */
LIBHDFS_EXTERNAL int hdfsFlush(hdfsFS fs, hdfsFile file);
/* New readers see what was written. */
LIBHDFS_EXTERNAL int hdfsHFlush(hdfsFS fs, hdfsFile file);
/* And it is on the DataNodes' disks. */
LIBHDFS_EXTERNAL int hdfsHSync(hdfsFS fs, hdfsFile file);

struct hdfsReadStatistics {
    uint64_t totalBytesRead;
    uint64_t totalLocalBytesRead;
    uint64_t totalShortCircuitBytesRead;
    uint64_t totalZeroCopyBytesRead;
};

/* *stats is freed by hdfsFileFreeReadStatistics(). EINVAL where the file is not of HDFS. */
LIBHDFS_EXTERNAL int hdfsFileGetReadStatistics(hdfsFile file, struct hdfsReadStatistics **stats);
LIBHDFS_EXTERNAL int64_t hdfsReadStatisticsGetRemoteBytesRead(const struct hdfsReadStatistics *stats);
LIBHDFS_EXTERNAL int hdfsFileClearReadStatistics(hdfsFile file);
LIBHDFS_EXTERNAL void hdfsFileFreeReadStatistics(struct hdfsReadStatistics *stats);

/* ---- names ---- */

/* 0 if it exists, else -1 with ENOENT. */
LIBHDFS_EXTERNAL int hdfsExists(hdfsFS fs, const char *path);
LIBHDFS_EXTERNAL int hdfsCopy(hdfsFS srcFS, const char *src, hdfsFS dstFS, const char *dst);
LIBHDFS_EXTERNAL int hdfsMove(hdfsFS srcFS, const char *src, hdfsFS dstFS, const char *dst);
LIBHDFS_EXTERNAL int hdfsDelete(hdfsFS fs, const char *path, int recursive);
LIBHDFS_EXTERNAL int hdfsRename(hdfsFS fs, const char *oldPath, const char *newPath);
/* The parents, too. */
LIBHDFS_EXTERNAL int hdfsCreateDirectory(hdfsFS fs, const char *path);
LIBHDFS_EXTERNAL int hdfsSetReplication(hdfsFS fs, const char *path, int16_t replication);
/* 1: the file has the new length; 0: its last block is still being cut, and the file cannot be written until then. */
LIBHDFS_EXTERNAL int hdfsTruncateFile(hdfsFS fs, const char *path, tOffset newlength);
/* An owner or group of NULL stays. */
LIBHDFS_EXTERNAL int hdfsChown(hdfsFS fs, const char *path, const char *owner, const char *group);
LIBHDFS_EXTERNAL int hdfsChmod(hdfsFS fs, const char *path, short mode);
/* A time of -1 stays. */
LIBHDFS_EXTERNAL int hdfsUtime(hdfsFS fs, const char *path, tTime mtime, tTime atime);
/* The buffer; ERANGE if it is too small. */
LIBHDFS_EXTERNAL char *hdfsGetWorkingDirectory(hdfsFS fs, char *buffer, size_t bufferSize);
LIBHDFS_EXTERNAL int hdfsSetWorkingDirectory(hdfsFS fs, const char *path);

typedef struct {
    tObjectKind mKind;
    char *mName; /* a URI */
    tTime mLastMod;
    tOffset mSize;
    short mReplication;
    tOffset mBlockSize;
    char *mOwner;
    char *mGroup;
    short mPermissions; /* as for chmod */
    tTime mLastAccess;
} hdfsFileInfo;

/* Entries of a folder, or the file itself. An empty folder gives NULL with errno 0 and no entries. */
LIBHDFS_EXTERNAL hdfsFileInfo *hdfsListDirectory(hdfsFS fs, const char *path, int *numEntries);
LIBHDFS_EXTERNAL hdfsFileInfo *hdfsGetPathInfo(hdfsFS fs, const char *path);
LIBHDFS_EXTERNAL void hdfsFreeFileInfo(hdfsFileInfo *info, int numEntries);
/* 1 or 0. The entry must be one that this library made. */
LIBHDFS_EXTERNAL int hdfsFileIsEncrypted(hdfsFileInfo *info);

/* For each block that has bytes of the range: its hosts, and NULL; after the last one NULL. */
LIBHDFS_EXTERNAL char ***hdfsGetHosts(hdfsFS fs, const char *path, tOffset start, tOffset length);
LIBHDFS_EXTERNAL void hdfsFreeHosts(char ***blockHosts);

/* Bytes; -1 after an error. */
LIBHDFS_EXTERNAL tOffset hdfsGetDefaultBlockSize(hdfsFS fs);
LIBHDFS_EXTERNAL tOffset hdfsGetDefaultBlockSizeAtPath(hdfsFS fs, const char *path);
LIBHDFS_EXTERNAL tOffset hdfsGetCapacity(hdfsFS fs);
LIBHDFS_EXTERNAL tOffset hdfsGetUsed(hdfsFS fs);

/* ---- reads without a copy ---- */

LIBHDFS_EXTERNAL struct hadoopRzOptions *hadoopRzOptionsAlloc(void);
LIBHDFS_EXTERNAL int hadoopRzOptionsSetSkipChecksum(struct hadoopRzOptions *opts, int skip);
/* A class of buffers to copy to where a block cannot be mapped; NULL, the default: none. */
LIBHDFS_EXTERNAL int hadoopRzOptionsSetByteBufferPool(struct hadoopRzOptions *opts, const char *className);
/* Buffers that were read with the options are freed before them. */
LIBHDFS_EXTERNAL void hadoopRzOptionsFree(struct hadoopRzOptions *opts);
/* EPROTONOSUPPORT if the block cannot be mapped and there is no pool. At the end of the file the length is 0. */
LIBHDFS_EXTERNAL struct hadoopRzBuffer *hadoopReadZero(hdfsFile file, struct hadoopRzOptions *opts, int32_t maxLength);
LIBHDFS_EXTERNAL int32_t hadoopRzBufferLength(const struct hadoopRzBuffer *buffer);
/* NULL at the end of the file. */
LIBHDFS_EXTERNAL const void *hadoopRzBufferGet(const struct hadoopRzBuffer *buffer);
/* The file must still be open. */
LIBHDFS_EXTERNAL void hadoopRzBufferFree(hdfsFile file, struct hadoopRzBuffer *buffer);

/* ---- what went wrong ---- */

/*
 * The exception that this thread's last failed call ended with: its innermost cause, and all of it with stack traces.
 * NULL if there was none. The text is the library's, until this thread's next failed call.
 */
LIBHDFS_EXTERNAL char *hdfsGetLastExceptionRootCause(void);
LIBHDFS_EXTERNAL char *hdfsGetLastExceptionStackTrace(void);

/* ---- for tests and measurements ---- */

/* Whether hdfsRead() lets the stream write to the caller's memory: 1 or 0. */
LIBHDFS_EXTERNAL int hdfsFileUsesDirectRead(hdfsFile file);
LIBHDFS_EXTERNAL void hdfsFileDisableDirectRead(hdfsFile file);

#ifdef __cplusplus
}
#endif

#endif
