package io.howdah.engine;

import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.platform.engine.FilterResult;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.Launcher;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.PostDiscoveryFilter;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/**
 * Runs tests without Maven, which takes too long where the processor is emulated. Usage: CLASS... [-METHOD]...; the
 * methods named so are left out.
 */
final class RunTests implements TestExecutionListener {
  private int passed;
  private int failed;
  private int skipped;
  private long started;

  private RunTests() {
  }

  public static void main(String[] args) {
    List<String> without = Arrays.stream(args).filter(arg -> arg.startsWith("-")).map(arg -> arg.substring(1))
        .collect(Collectors.toList());
    LauncherDiscoveryRequest request = LauncherDiscoveryRequestBuilder.request()
        .selectors(Arrays.stream(args).filter(arg -> !arg.startsWith("-"))
            .map(name -> DiscoverySelectors.selectClass("io.howdah.engine." + name)).collect(Collectors.toList()))
        .filters((PostDiscoveryFilter) test -> FilterResult.includedIf(test.getSource()
            .map(source -> !(source instanceof MethodSource)
                || !without.contains(((MethodSource) source).getMethodName()))
            .orElse(true)))
        .build();
    RunTests counts = new RunTests();
    Launcher launcher = LauncherFactory.create();
    launcher.execute(request, counts);
    System.out.println(counts.passed + " passed, " + counts.failed + " failed, " + counts.skipped + " skipped");
    System.exit(counts.failed > 0 || counts.passed == 0 ? 1 : 0);
  }

  @Override
  public void executionStarted(TestIdentifier test) {
    started = System.nanoTime();
  }

  @Override
  public void executionFinished(TestIdentifier test, TestExecutionResult result) {
    boolean good = result.getStatus() == TestExecutionResult.Status.SUCCESSFUL;
    if (good && !test.isTest()) {
      return;
    }
    System.out.printf("%s %s (%d ms)%n", good ? "passed" : "FAILED", test.getLegacyReportingName(),
        (System.nanoTime() - started) / 1_000_000);
    result.getThrowable().ifPresent(cause -> cause.printStackTrace(System.out));
    if (good) {
      passed++;
    } else {
      failed++;
    }
  }

  @Override
  public void executionSkipped(TestIdentifier test, String reason) {
    System.out.println("skipped " + test.getLegacyReportingName() + ": " + reason);
    skipped++;
  }
}
