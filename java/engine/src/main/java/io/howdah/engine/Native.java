package io.howdah.engine;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * The methods of libhowdah_jni. Handles and addresses are numbers, failures are negative errnos, and
 * {@link #lastError()} has the failed call's cause for the thread that made it. Nothing is checked: only holders of an
 * entered {@link Handle} may call with its pointer.
 */
final class Native {
  /** The other half of HD_JNI_ABI in native/jni/binding.h. The library reads it when it is loaded. */
  static final int ABI = 7;

  static final long FOREVER = -1;

  private Native() {
  }

  static native int abi();

  static native String version();

  static native String lastError();

  static native int logTake(long to, int size);

  // Options.

  static native String[] optionAt(int i);

  static native long confCreate();

  static native void confDestroy(long conf);

  static native int confSet(long conf, String key, String value, String where);

  static native int confReadEnvironment(long conf);

  static native int confTune(long conf);

  static native String[] confGet(long conf, String key);

  // Engine.

  static native long engineCreate(long conf, String name);

  static native int engineSet(long engine, String key, String value, String where);

  static native void engineStop(long engine);

  static native void engineDestroy(long engine);

  static native String[] engineTransports(long engine);

  static native void sizeRecord(long engine, long kind, long bytes);

  static native long sizePredict(long engine, long kind, long fallback);

  static native String counterName(long engine, int i);

  static native int counters(long engine, long values, int max);

  static native String statsPath(long engine);

  static native int communicationEnter(long engine);

  static native void communicationLeave(long engine);

  static native String affinityText(long engine);

  // Queues and services.

  static native long queueCreate(long engine);

  static native void queueDestroy(long queue);

  static native int queueWait(long queue, long events, int max, long timeout);

  static native void queueWake(long queue);

  static native int listen(long engine, String name, long queue, long user);

  static native int unlisten(long engine, String name);

  // Buffers; `out` receives address and length.

  static native long bufAlloc(long engine, long size, long out);

  static native void bufRelease(long buf);

  static native int bufSetLength(long buf, long length);

  static native long bufRegister(long engine, long address, long length);

  static native int bufDeregister(long buf, long timeout);

  static native long bufSlice(long buf, long offset, long length, long out);

  static native ByteBuffer wrap(long address, long length);

  static native long addressOf(ByteBuffer buffer);

  // Links.

  static native int connectSide(long engine, int fd, String address, long timeout, long out);

  static native int acceptSide(long engine, int fd, long prefix, int length, long timeout, long out);

  static native boolean isGreeting(long bytes, int length);

  static native long linkFind(long engine, String address);

  static native void linkPut(long link);

  static native void linkClose(long link);

  static native int linkStatus(long link);

  static native String linkPeer(long link);

  static native String linkTransport(long link);

  static native long linkOf(long stream, long fetch);

  // Streams.

  static native long streamOpen(long link, String service);

  static native int streamConfigure(long stream, long queue, long user, int protocol, boolean deferred);

  static native int send(long stream, long data, int length, long timeout);

  static native int sendBuf(long stream, long buf, int offset, int length, long timeout);

  static native long recv(long stream, long out, long timeout);

  static native int read(long stream, long data, int length, long timeout);

  static native int readArray(long stream, byte[] to, int offset, int length);

  static native int write(long stream, long data, int length, long timeout);

  static native long available(long stream);

  static native long offered(long stream);

  static native int streamFinish(long stream);

  static native void streamWake(long stream);

  static native void streamClose(long stream);

  // Fetches.

  static native long fetchStart(long link, String service, long asking);

  static native long fetchData(long fetch, long out);

  static native String fetchError(long fetch);

  static native void fetchCancel(long fetch);

  static native void fetchRelease(long fetch);

  static native int fetchAsked(long fetch, long out);

  static native int fetchReplyBuf(long fetch, long buf, int offset, int length);

  static native int fetchReplyFile(long fetch, int fd, long offset, long length);

  static native int fetchReplyError(long fetch, int error, String cause);

  // Files.

  static native void fileWrite(int fd, long data, int length) throws IOException;
}
