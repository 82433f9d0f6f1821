package io.howdah.examples.spark;

import java.io.Serializable;
import java.math.BigInteger;
import java.util.Iterator;
import java.util.zip.CRC32;
import scala.Tuple2;

/**
 * What is known of a run of records: how many, the sum of their CRC-32s (TeraValidate's checksum, which does not
 * depend on the order), and whether their keys are in order. Immutable.
 */
public final class RecordSummary implements Serializable {
  private static final long serialVersionUID = 1;

  private final long records;
  private final BigInteger checksum;
  private final boolean inOrder;
  private final RecordKey first;
  private final RecordKey last;

  private RecordSummary(long records, BigInteger checksum, boolean inOrder, RecordKey first, RecordKey last) {
    this.records = records;
    this.checksum = checksum;
    this.inOrder = inOrder;
    this.first = first;
    this.last = last;
  }

  /** Of no records. */
  public static RecordSummary empty() {
    return new RecordSummary(0, BigInteger.ZERO, true, null, null);
  }

  /** Of these records, in this order. */
  public static RecordSummary of(Iterator<Tuple2<RecordKey, byte[]>> records) {
    CRC32 crc = new CRC32();
    long count = 0;
    long sum = 0;
    boolean inOrder = true;
    RecordKey first = null;
    RecordKey last = null;
    while (records.hasNext()) {
      Tuple2<RecordKey, byte[]> record = records.next();
      crc.reset();
      crc.update(record._2, 0, record._2.length);
      sum += crc.getValue();
      if (sum < 0) {
        throw new ArithmeticException("more than 2^31 records in one part");
      }
      inOrder &= last == null || last.compareTo(record._1) <= 0;
      first = first == null ? record._1 : first;
      last = record._1;
      count++;
    }
    return new RecordSummary(count, BigInteger.valueOf(sum), inOrder, first, last);
  }

  /** This run with another right behind it. */
  public RecordSummary then(RecordSummary next) {
    if (next.records == 0) {
      return this;
    }
    if (records == 0) {
      return next;
    }
    return new RecordSummary(records + next.records, checksum.add(next.checksum),
        inOrder && next.inOrder && last.compareTo(next.first) <= 0, first, next.last);
  }

  /** "records N inOrder true|false checksum HEX". */
  @Override
  public String toString() {
    return "records " + records + " inOrder " + inOrder + " checksum " + checksum.toString(16);
  }
}
