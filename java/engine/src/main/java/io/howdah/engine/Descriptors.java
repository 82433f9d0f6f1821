package io.howdah.engine;

import java.io.FileDescriptor;
import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.Socket;
import java.net.SocketImpl;
import java.nio.channels.FileChannel;
import java.nio.channels.SocketChannel;

/**
 * File descriptors of Java's sockets and files. Java 8 has no official way to them; what is not as expected is refused
 * by name, never guessed. The engine works on a duplicate, so the owner may close at any time.
 */
final class Descriptors {
  /** The number in a FileDescriptor; null where the JDK does not let us. */
  private static final Field NUMBER = numberField();

  private Descriptors() {
  }

  private static Field numberField() {
    try {
      Field field = FileDescriptor.class.getDeclaredField("fd");
      field.setAccessible(true);
      return field;
    } catch (ReflectiveOperationException | RuntimeException e) {
      return null; // said of whose descriptor is wanted
    }
  }

  static int of(SocketChannel channel) throws IOException {
    requireOpen(channel.isOpen(), channel);
    try {
      Method method = channel.getClass().getMethod("getFDVal");
      method.setAccessible(true);
      return valid((Integer) method.invoke(channel), channel);
    } catch (InvocationTargetException | NoSuchMethodException | IllegalAccessException | RuntimeException e) {
      throw unreachable(channel, e);
    }
  }

  static int of(Socket socket) throws IOException {
    requireOpen(!socket.isClosed(), socket);
    if (socket.getChannel() != null) {
      return of(socket.getChannel());
    }
    if (socket.getClass() != Socket.class) { // a TLS socket, say: its bytes are not the connection's bytes
      throw unreachable(socket, null);
    }
    try {
      Method impl = Socket.class.getDeclaredMethod("getImpl");
      impl.setAccessible(true);
      Method descriptor = SocketImpl.class.getDeclaredMethod("getFileDescriptor");
      descriptor.setAccessible(true);
      return number((FileDescriptor) descriptor.invoke(impl.invoke(socket)), socket);
    } catch (ReflectiveOperationException | RuntimeException e) {
      throw unreachable(socket, e);
    }
  }

  static int of(FileChannel channel) throws IOException {
    requireOpen(channel.isOpen(), channel);
    try {
      Field field = channel.getClass().getDeclaredField("fd");
      field.setAccessible(true);
      return number((FileDescriptor) field.get(channel), channel);
    } catch (ReflectiveOperationException | RuntimeException e) {
      throw unreachable(channel, e);
    }
  }

  static int of(FileDescriptor descriptor) throws IOException {
    return number(descriptor, descriptor);
  }

  private static int number(FileDescriptor descriptor, Object owner) throws IOException {
    if (NUMBER == null) {
      throw unreachable(owner, null);
    }
    try {
      return valid(NUMBER.getInt(descriptor), owner);
    } catch (ReflectiveOperationException | RuntimeException e) {
      throw unreachable(owner, e);
    }
  }

  private static int valid(int fd, Object owner) throws IOException {
    requireOpen(fd >= 0, owner);
    return fd;
  }

  private static void requireOpen(boolean open, Object owner) throws IOException {
    if (!open) {
      throw new EngineClosedException(owner + " is closed");
    }
  }

  private static IOException unreachable(Object owner, Exception cause) {
    EngineException error = new EngineException(Errno.EOPNOTSUPP,
        "the file descriptor of a " + owner.getClass().getName()
            + " can't be had: the engine needs the sockets and file channels of a JDK 8");
    if (cause != null) {
      error.initCause(cause);
    }
    return error;
  }
}
