package io.howdah.engine;

import java.io.Closeable;
import java.io.IOException;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;

/** A service that is offered to peers until it is closed. Thread-safe. */
public final class Service implements Closeable {
  private final EngineCore core;
  private final EventQueue queue;
  private final String name;
  private final Object attachment;
  private final AtomicBoolean closed = new AtomicBoolean();
  private final long id;

  private Service(EngineCore core, EventQueue queue, String name, Object attachment) {
    this.core = core;
    this.queue = queue;
    this.name = Objects.requireNonNull(name);
    this.attachment = attachment;
    this.id = queue.add(this);
  }

  static Service listen(EngineCore core, String name, EventQueue queue, Object attachment) throws IOException {
    if (queue.core() != core) {
      throw new IllegalArgumentException("a queue of another engine");
    }
    Service service = new Service(core, queue, name, attachment);
    int err = -Errno.ESHUTDOWN;
    try {
      long engine = core.enter();
      try {
        long events = queue.enter();
        try {
          err = Native.listen(engine, name, events, service.id);
          if (err < 0) {
            throw Errno.failure(err, null);
          }
        } finally {
          queue.exit();
        }
      } finally {
        core.exit();
      }
    } finally {
      if (err < 0) {
        queue.remove(service.id);
      }
    }
    return service;
  }

  /** What peers call it. */
  public String name() {
    return name;
  }

  /** What was given with {@link Engine#listen}. */
  public Object attachment() {
    return attachment;
  }

  /** Ends the offer: peers are told that there is no such service. Streams that were accepted go on. */
  @Override
  public void close() {
    if (!closed.compareAndSet(false, true)) {
      return;
    }
    try {
      long engine = core.enter();
      try {
        Native.unlisten(engine, name);
      } finally {
        core.exit();
      }
    } catch (EngineClosedException e) {
      assert !core.isOpen() : e; // the engine took its services with it
    } finally {
      queue.remove(id);
    }
  }
}
