import java.io.File;
import org.iq80.leveldb.DB;
import org.iq80.leveldb.Options;

/** Uses the native libraries that jars bring along: UseLibraries FOLDER, where LevelDB may keep its files. */
public final class UseLibraries {
  private UseLibraries() {
  }

  public static void main(String[] args) throws Exception {
    byte[] text = "text".getBytes("UTF-8");
    System.out.println("snappy " + new String(org.xerial.snappy.Snappy.uncompress(org.xerial.snappy.Snappy.compress(text)), "UTF-8"));
    try (DB db = org.fusesource.leveldbjni.JniDBFactory.factory.open(new File(args[0]), new Options())) {
      db.put(text, text);
      System.out.println("leveldb " + new String(db.get(text), "UTF-8"));
    }
  }
}
