/**
 * The one way of host protocols onto the engine: options, fallback, greetings, counts.
 *
 * <p>A client:
 * <pre>{@code
 * Upgrade upgrade = Upgrade.of(Component.HDFS, new HadoopSettings(conf)).metrics(counters); // once for each client
 * Attempt attempt = upgrade.connector().attempt(server);                  // once for each connection
 * if (!attempt.reuse()) {                                                  // only if the server pairs by link
 *   Attempt.Step step;
 *   do {
 *     socket = connect(server);
 *     step = attempt.upgrade(socket, timeout);
 *   } while (step == Attempt.Step.AGAIN);
 *   if (step == Attempt.Step.SOCKET) {
 *     return socket;
 *   }
 *   socket.close();
 * }
 * return new StreamSocket(attempt.linked());
 * }</pre>
 *
 * <p>A server, if {@code upgrade.isUsable()}: it listens to a service of its own
 * ({@link io.howdah.upgrade.Acceptor#newService}), gives connections whose first bytes
 * {@link io.howdah.upgrade.Acceptor#isPossible} to an {@link io.howdah.upgrade.Acceptor} (directly, or by the
 * adapters in {@code nio}, {@code netty3} and {@code netty4}; a server with a thread for each connection uses
 * {@link io.howdah.upgrade.Acceptor#answerNow} and {@link io.howdah.upgrade.FirstBytesInput}), and gives links and
 * streams to a {@link io.howdah.upgrade.Pairing}.
 *
 * <p>Which options there are is in {@link io.howdah.upgrade.Options}, in {@link io.howdah.upgrade.Component} and in
 * the engine's {@link io.howdah.engine.EngineOption}. More is in docs/design/upgrade.md.
 */
package io.howdah.upgrade;
