package io.howdah.pipeline;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import groovy.lang.MissingMethodException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What ci/Jenkinsfile does with a change, with the slow tiers chosen, with a tag, and where something fails. */
class JenkinsfileTest {
  private static final Path FILE = DeclarativePipeline.root().resolve("ci/Jenkinsfile");
  private final DeclarativePipeline pipeline = new DeclarativePipeline();

  private static String text(String file) throws IOException {
    return new String(Files.readAllBytes(DeclarativePipeline.root().resolve(file)), StandardCharsets.UTF_8);
  }

  private static void write(Path file, String text) throws IOException {
    Files.write(file, text.getBytes(StandardCharsets.UTF_8));
  }

  private static String[] slowTiers() throws IOException {
    Matcher tiers = Pattern.compile("(?m)^`make (conformance-slow [a-z0-9 -]+)`:").matcher(text("README.md"));
    assertThat(tiers.find()).isTrue();
    return tiers.group(1).split(" ");
  }

  private List<String> stagesOf(String word, String argument) {
    return pipeline.steps.stream().filter(step -> step.word.equals(word) && step.argument.matches(argument))
        .map(step -> step.stage).collect(Collectors.toList());
  }

  private void everything() throws Exception {
    pipeline.params.put("SLOW", true);
    pipeline.params.put("NATIVE_POWER", true);
    pipeline.tag = "v0.1.0";
    pipeline.run(FILE);
  }

  @Test
  void aChangeIsTestedAndPackaged() throws Exception {
    pipeline.run(FILE);
    pipeline.assertJobStatusSuccess();
    assertThat(pipeline.calls("sh")).contains("make lint", "make unit", "make native", "make whole", "make test",
        "make demo", "make docs", "make deb", "make rpm");
    assertThat(pipeline.calls("sh")).noneMatch(command -> command.contains("slow") || command.startsWith("make repo"));
    assertThat(pipeline.calls("credentials")).isEmpty();
    assertThat(pipeline.steps).noneMatch(step -> step.agent.contains("ppc64le"));
  }

  @Test
  void everySlowTierOfTheReadmeRunsWhereItIsAskedFor() throws Exception {
    String[] tiers = slowTiers();
    assertThat(tiers.length).isGreaterThanOrEqualTo(5);
    pipeline.params.put("SLOW", true);
    pipeline.run(FILE);
    assertThat(pipeline.calls("sh")).contains(Arrays.stream(tiers).map(tier -> "make " + tier).toArray(String[]::new));
  }

  @Test
  void theEngineIsTestedOnPowerWhereThereIsAnAgent() throws Exception {
    pipeline.params.put("NATIVE_POWER", true);
    pipeline.run(FILE);
    assertThat(pipeline.steps.stream().filter(step -> step.argument.equals("make native")).map(step -> step.agent))
        .containsExactlyInAnyOrder("howdah", "howdah && ppc64le");
  }

  @Test
  void aTagPublishesSignedRepositories() throws Exception {
    pipeline.tag = "v0.1.0";
    pipeline.run(FILE);
    assertThat(pipeline.calls("credentials")).containsExactly("howdah-signing-key");
    assertThat(pipeline.calls("sh")).contains("make repo KEY=\"$KEY\"");
    assertThat(pipeline.calls("archiveArtifacts")).contains("build/packages/repo/**");
    assertThat(pipeline.getBinding().hasVariable("KEY")).isTrue();
  }

  @Test
  void aTagOfAnotherFormPublishesNothing() throws Exception {
    pipeline.tag = "trial";
    pipeline.run(FILE);
    assertThat(pipeline.calls("sh")).noneMatch(command -> command.startsWith("make repo"));
  }

  @Test
  void packagesAndDocumentsAreKept() throws Exception {
    pipeline.run(FILE);
    assertThat(pipeline.calls("archiveArtifacts")).anyMatch(files -> files.contains("*.deb") && files.contains("*.rpm"))
        .contains("build/docs/**", "build/test/*.log");
  }

  @Test
  void independentStagesStandBesideEachOther() throws Exception {
    everything();
    assertThat(pipeline.branches).contains("Lint", "Unit", "Engine, both architectures", "Every test", "Demo",
        "Images", "Upstream, slow");
    assertThat(pipeline.branches).doesNotContain("Packages", "Publish");
  }

  @Test
  void whatFailedIsShownAndEndsThePipelineButNotWhatStandsBesideIt() throws Exception {
    pipeline.failing = "make unit"::equals;
    pipeline.run(FILE);
    pipeline.assertJobStatusFailure();
    assertThat(pipeline.steps.stream().filter(step -> step.stage.equals("Unit")).map(step -> step.word))
        .containsExactly("sh", "sh", "junit");
    assertThat(pipeline.calls("sh")).contains("make native").doesNotContain("make test", "make deb");
  }

  @Test
  void everySuiteHasItsResultsShown() throws Exception {
    everything();
    Set<String> shown = new HashSet<>(stagesOf("junit", ".*"));
    assertThat(stagesOf("sh", "make (lint|unit|native|test|.*slow|rdma-vm.*|proofs|test-.*)"))
        .hasSizeGreaterThan(10).allMatch(shown::contains);
  }

  @Test
  void everyCommandIsATargetOfMakeOrAStepOfCi() throws Exception {
    String makefile = text("Makefile");
    everything();
    assertThat(pipeline.calls("sh")).hasSizeGreaterThan(20).allSatisfy(command -> {
      String[] words = command.split(" ");
      if (words[0].equals("make")) {
        assertThat(makefile).containsPattern("(?m)^" + Pattern.quote(words[1]) + ":");
      } else {
        assertThat(DeclarativePipeline.root().resolve(words[0])).isExecutable();
      }
    });
  }

  @Test
  void aWordThatTheLanguageLacksIsAnError(@TempDir Path folder) throws Exception {
    Path wrong = folder.resolve("Jenkinsfile");
    write(wrong, text("ci/Jenkinsfile").replace("timestamps()", "timestamp()"));
    assertThatThrownBy(() -> pipeline.run(wrong)).isInstanceOf(MissingMethodException.class)
        .hasMessageContaining("timestamp()");
  }

  @Test
  void aStepWithoutAnAgentIsAnError(@TempDir Path folder) throws Exception {
    Path wrong = folder.resolve("Jenkinsfile");
    write(wrong, text("ci/Jenkinsfile").replaceFirst("agent \\{ label 'howdah' }", ""));
    assertThatThrownBy(() -> pipeline.run(wrong)).hasStackTraceContaining("no agent for Lint");
  }
}
