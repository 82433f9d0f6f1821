package org.apache.hadoop.mapred;

import io.howdah.upgrade.Acceptor;
import io.howdah.upgrade.Component;
import io.howdah.upgrade.Traffic;
import io.howdah.upgrade.Upgrade;
import io.howdah.upgrade.hadoop.HadoopSettings;
import io.howdah.upgrade.netty3.NettyGreeter;
import java.io.EOFException;
import java.io.File;
import java.io.IOException;
import java.lang.reflect.Field;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.MRConfig;
import org.apache.hadoop.mapreduce.security.SecureShuffleUtils;
import org.apache.hadoop.service.Service;
import org.jboss.netty.channel.Channel;
import org.jboss.netty.channel.ChannelFuture;
import org.jboss.netty.channel.ChannelHandlerContext;
import org.jboss.netty.channel.ChannelStateEvent;
import org.jboss.netty.handler.codec.http.DefaultHttpRequest;
import org.jboss.netty.handler.codec.http.DefaultHttpResponse;
import org.jboss.netty.handler.codec.http.HttpHeaders;
import org.jboss.netty.handler.codec.http.HttpMethod;
import org.jboss.netty.handler.codec.http.HttpRequest;
import org.jboss.netty.handler.codec.http.HttpResponse;
import org.jboss.netty.handler.codec.http.HttpResponseStatus;
import org.jboss.netty.handler.codec.http.HttpVersion;
import org.jboss.netty.handler.codec.http.QueryStringDecoder;

/**
 * The last handler of stock's ShuffleHandler, which also serves over the engine: on the same port, to reducers that
 * greet. Secrets, recovery, index cache and metrics are stock's. With the engine off, or with the shuffle encrypted, it
 * does what stock's does. The patched ShuffleHandler makes it, and so does {@link RdmaShuffleHandler}.
 */
public final class EngineShuffle extends ShuffleHandler.Shuffle implements ShuffleServer.Source {
  private final ShuffleHandler handler;
  private final Configuration conf;
  private final Upgrade upgrade;
  private final Traffic http = Traffic.of(ShuffleServer.TRAFFIC, Traffic.SOCKET);
  private Acceptor acceptor;
  private NettyGreeter greeter;
  private ShuffleServer server;

  private EngineShuffle(ShuffleHandler handler, Configuration conf) throws IOException {
    handler.super(conf);
    this.handler = handler;
    this.conf = conf;
    this.upgrade = Upgrade.of(Component.SHUFFLE, new HadoopSettings(conf));
  }

  /**
   * The handler for a service that starts; it ends with the service.
   *
   * @throws IllegalArgumentException for an option that is not valid, or if the engine is required and can't be used
   */
  static ShuffleHandler.Shuffle of(ShuffleHandler service, Configuration conf) {
    try {
      EngineShuffle shuffle = new EngineShuffle(service, conf);
      service.registerServiceListener(changed -> {
        if (changed.isInState(Service.STATE.STOPPED)) {
          shuffle.stop();
        }
      });
      shuffle.start();
      return shuffle;
    } catch (IOException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
    }
  }

  private void start() throws IOException {
    if (conf.getBoolean(MRConfig.SHUFFLE_SSL_ENABLED_KEY, MRConfig.SHUFFLE_SSL_ENABLED_DEFAULT)) {
      if (!upgrade.isOff()) {
        upgrade.fellBack("", "The shuffle goes over sockets", "it is encrypted ("
            + MRConfig.SHUFFLE_SSL_ENABLED_KEY + "), which the engine does not do");
      }
    } else if (upgrade.isUsable()) {
      offer();
    }
  }

  private void offer() throws IOException {
    String service = Acceptor.newService("hadoop.shuffle");
    int threads = conf.getInt(ShuffleHandler.MAX_SHUFFLE_THREADS, ShuffleHandler.DEFAULT_MAX_SHUFFLE_THREADS);
    server = new ShuffleServer(upgrade.engine(), service,
        threads > 0 ? threads : 2 * Runtime.getRuntime().availableProcessors(),
        conf.getInt(ShuffleHandler.MAX_SHUFFLE_CONNECTIONS, ShuffleHandler.DEFAULT_MAX_SHUFFLE_CONNECTIONS),
        new ShuffleReadahead(conf), this);
    acceptor = new Acceptor(upgrade, service, "shuffle-greeting");
    greeter = new NettyGreeter(acceptor, new NettyGreeter.Listener() {
      @Override
      public void plain(Channel channel) {
        http.connection();
        SocketAddress reducer = channel.getRemoteAddress(); // null if it has left
        String host = reducer instanceof InetSocketAddress ? ((InetSocketAddress) reducer).getHostString() : "a host";
        upgrade.fellBack(host, "Reducers on " + host + " fetch map output over sockets",
            "the reducer asks over HTTP: it is stock Hadoop's, or can't use the engine");
      }
    });
  }

  private synchronized void stop() {
    if (server != null) {
      acceptor.close();
      server.close();
      server = null;
    }
    upgrade.close();
  }

  @Override
  public void channelOpen(ChannelHandlerContext context, ChannelStateEvent event) throws Exception {
    super.channelOpen(context, event);
    if (greeter != null) {
      greeter.install(context.getPipeline());
    } else if (event.getChannel().isOpen()) {
      http.connection();
    }
  }

  @Override
  protected ChannelFuture sendMapOutput(ChannelHandlerContext context, Channel channel, String user, String map,
      int reduce, MapOutputInfo output) throws IOException {
    ChannelFuture sent = super.sendMapOutput(context, channel, user, map, reduce, output);
    if (sent != null) {
      http.call(output.indexRecord.partLength);
    }
    return sent;
  }

  // What the server asks.

  @Override
  public ShuffleServer.Granted verify(ShuffleWire.Request request) throws IOException {
    Map<String, List<String>> query = new QueryStringDecoder(request.uri).getParameters();
    String job = only(query, "job");
    int reduce;
    try {
      reduce = Integer.parseInt(only(query, "reduce"));
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException("Bad reduce parameter", e);
    }
    String[] maps = only(query, "map").split(",");
    if (maps.length > ShuffleWire.MAPS_MAX) {
      throw new IllegalArgumentException(maps.length + " maps in one request");
    }
    String hash = proof(job, request);
    String user = userOf(job);
    List<ServedParts.Part> parts = new ArrayList<>(maps.length);
    String folder = MapOutputPlace.folder(JobID.forName(job), user);
    for (String map : maps) {
      TaskAttemptID.forName(map); // nothing else may become part of a path
      parts.add(part(folder, map, reduce, user));
    }
    return new ShuffleServer.Granted(user, hash, parts, request.locate ? locations(parts, folder, maps) : null);
  }

  private static String only(Map<String, List<String>> query, String name) {
    List<String> values = query.get(name);
    if (values == null || values.size() != 1) {
      throw new IllegalArgumentException("Required param job, map and reduce");
    }
    return values.get(0);
  }

  /** Users of jobs, after a restart too, are known to a private field of stock's alone. */
  private String userOf(String job) throws IOException {
    try {
      Field users = ShuffleHandler.class.getDeclaredField("userRsrc");
      users.setAccessible(true);
      return (String) ((Map<?, ?>) users.get(handler)).get(job);
    } catch (NoSuchFieldException | IllegalAccessException e) {
      throw new IOException("this ShuffleHandler is not that of Hadoop 2.8", e);
    }
  }

  @Override
  public void served(int parts, long bytes, boolean well) {
    handler.metrics.shuffleOutputBytes.incr(bytes);
    if (!well) {
      handler.metrics.shuffleOutputsFailed.incr(parts);
    } else if (parts > 0) {
      handler.metrics.shuffleOutputsOK.incr(parts);
    }
  }

  /** @return the hash of the hash, which proves to the reducer that the job's secret is known here */
  private String proof(String job, ShuffleWire.Request request) throws IOException {
    HttpRequest asked = new DefaultHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.GET, request.uri);
    HttpHeaders.setHeader(asked, SecureShuffleUtils.HTTP_HEADER_URL_HASH, request.hash);
    HttpResponse response = new DefaultHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK);
    int port = conf.getInt(ShuffleHandler.SHUFFLE_PORT_CONFIG_KEY, ShuffleHandler.DEFAULT_SHUFFLE_PORT);
    try {
      verifyRequest(job, null, asked, response, new URL("http", "", port, request.uri));
    } catch (IOException e) {
      throw new ShuffleServer.RefusedException(HttpResponseStatus.UNAUTHORIZED.getCode(), e.getMessage());
    }
    return HttpHeaders.getHeader(response, SecureShuffleUtils.HTTP_HEADER_REPLY_URL_HASH);
  }

  private ServedParts.Part part(String base, String map, int reduce, String user) throws IOException {
    MapOutputInfo info = getMapOutputInfo(base + map, map, reduce, user);
    return new ServedParts.Part(new File(info.mapOutputFileName.toString()), info.indexRecord.startOffset,
        info.indexRecord.partLength, info.indexRecord.rawLength);
  }

  /** @return null if none can be told */
  private static ShuffleWire.Location[] locations(List<ServedParts.Part> parts, String folder, String[] maps)
      throws IOException {
    ShuffleWire.Location[] locations = new ShuffleWire.Location[maps.length];
    boolean any = false;
    for (int i = 0; i < maps.length; i++) {
      ServedParts.Part part = parts.get(i);
      String root = MapOutputPlace.root(part.file, folder, maps[i]);
      if (root != null) {
        BasicFileAttributes now = Files.readAttributes(part.file.toPath(), BasicFileAttributes.class);
        if (part.length > now.size() - part.start) {
          throw new EOFException(part.file + " ends at " + now.size() + ", before a part's end");
        }
        locations[i] = new ShuffleWire.Location(root, part.start, now.size(), now.lastModifiedTime().toMillis());
        any = true;
      }
    }
    return any ? locations : null;
  }

  /** Sessions of reducers that are open over the engine. */
  public synchronized int sessionCount() {
    return server == null ? 0 : server.sessionCount();
  }
}
