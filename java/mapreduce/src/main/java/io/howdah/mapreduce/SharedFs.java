package io.howdah.mapreduce;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.DelegateToFileSystem;

/** {@link SharedFileSystem} for FileContext, as {@code fs.AbstractFileSystem.shared.impl}. */
public final class SharedFs extends DelegateToFileSystem {
  /** As AbstractFileSystem makes it. */
  public SharedFs(URI uri, Configuration conf) throws IOException, URISyntaxException {
    super(uri, new SharedFileSystem(), conf, SharedFileSystem.NAME.getScheme(), false);
  }

  @Override
  public int getUriDefaultPort() {
    return -1;
  }

  @Override
  public boolean isValidName(String name) {
    return true; // the operating system's rules hold
  }
}
