import java.io.File;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.util.RunJar;

/** Unpacks an archive as Hadoop does: Unpack untar|unzip|unjar ARCHIVE FOLDER. */
public final class Unpack {
  private Unpack() {}

  public static void main(String[] args) throws Exception {
    File archive = new File(args[1]);
    File folder = new File(args[2]);
    switch (args[0]) {
      case "untar":
        FileUtil.unTar(archive, folder);
        break;
      case "unzip":
        FileUtil.unZip(archive, folder);
        break;
      default:
        RunJar.unJar(archive, folder);
    }
  }
}
