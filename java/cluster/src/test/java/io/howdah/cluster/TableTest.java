package io.howdah.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class TableTest {
  @Test
  void columnsAreAsWideAsTheirWidestCell() {
    assertThat(new Table("A", "LONG", "C").row("wide one", 1, "x").row("b", "", "").toString())
        .isEqualTo("A         LONG  C\nwide one  1     x\nb\n");
  }

  @Test
  void missingCellsAreEmpty() {
    assertThat(new Table("A", "B").row("x").toString()).isEqualTo("A  B\nx\n");
  }
}
