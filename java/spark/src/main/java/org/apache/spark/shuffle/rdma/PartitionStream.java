package org.apache.spark.shuffle.rdma;

import java.io.IOException;
import java.io.OutputStream;
import org.apache.spark.serializer.SerializationStream;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.serializer.SerializerManager;
import org.apache.spark.storage.BlockId;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** Serializes records of a partition, compressed and encrypted as Spark's configuration asks. Not thread-safe. */
final class PartitionStream {
  private static final ClassTag<Object> ANY = ClassTag$.MODULE$.Any();

  private final OutputStream wrapped;
  private final SerializationStream records;

  PartitionStream(BlockId block, SerializerManager manager, SerializerInstance serializer, OutputStream to) {
    wrapped = manager.wrapStream(block, to);
    records = serializer.serializeStream(wrapped);
  }

  void write(Object key, Object value) {
    records.writeKey(key, ANY);
    records.writeValue(value, ANY);
  }

  void close() throws IOException {
    records.flush();
    wrapped.flush(); // Kryo's stream does not
    records.close();
  }
}
