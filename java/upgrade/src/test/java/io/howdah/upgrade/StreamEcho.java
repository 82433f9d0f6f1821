package io.howdah.upgrade;

import io.howdah.engine.EngineStream;
import io.howdah.engine.EventHandler;
import io.howdah.engine.EventQueue;
import io.howdah.engine.Service;
import java.io.Closeable;
import java.io.IOException;

/** A service that gives back what comes over its streams, and the acceptor that leads clients to it. */
final class StreamEcho implements Closeable, EventHandler {
  final Acceptor acceptor;
  private final EventQueue queue;
  private final Service service;

  StreamEcho(Upgrade upgrade) throws IOException {
    if (!upgrade.isUsable()) {
      throw new IOException("no engine");
    }
    acceptor = new Acceptor(upgrade, Acceptor.newService("echo"), "greeting");
    queue = upgrade.engine().newQueue();
    service = upgrade.engine().listen(acceptor.service(), queue, null);
    EchoServer.start(() -> {
      while (queue.isOpen()) {
        queue.poll(this, 1000);
      }
    });
  }

  @Override
  public void accepted(EngineStream stream, Service of) {
    EchoServer.start(() -> EchoServer.echo(stream.input(), stream.output()));
  }

  @Override
  public void close() {
    service.close();
    acceptor.close();
    queue.close();
  }
}
