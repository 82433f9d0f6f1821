package io.howdah.cluster;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** A table of text with columns as wide as their widest cell. */
final class Table {
  private final List<String[]> rows = new ArrayList<>();

  Table(String... header) {
    rows.add(header);
  }

  /** Adds a row; missing cells at its end are empty. */
  Table row(Object... cells) {
    String[] row = new String[rows.get(0).length];
    Arrays.fill(row, "");
    for (int i = 0; i < cells.length; i++) {
      row[i] = String.valueOf(cells[i]);
    }
    rows.add(row);
    return this;
  }

  @Override
  public String toString() {
    int columns = rows.get(0).length;
    int[] widths = new int[columns];
    for (String[] row : rows) {
      for (int i = 0; i < columns; i++) {
        widths[i] = Math.max(widths[i], row[i].length());
      }
    }
    StringBuilder text = new StringBuilder();
    for (String[] row : rows) {
      StringBuilder line = new StringBuilder();
      for (int i = 0; i < columns; i++) {
        line.append(row[i]);
        for (int pad = row[i].length(); i < columns - 1 && pad < widths[i] + 2; pad++) {
          line.append(' ');
        }
      }
      text.append(line.toString().replaceAll(" +$", "")).append('\n');
    }
    return text.toString();
  }
}
