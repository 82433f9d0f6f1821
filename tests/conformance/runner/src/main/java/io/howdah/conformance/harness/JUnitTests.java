package io.howdah.conformance.harness;

import java.util.HashSet;
import java.util.Set;
import org.junit.Ignore;
import org.junit.runner.Description;
import org.junit.runner.JUnitCore;
import org.junit.runner.Request;
import org.junit.runner.manipulation.Filter;
import org.junit.runner.notification.Failure;
import org.junit.runner.notification.RunListener;

/** Runs a JUnit 3 or 4 class. */
final class JUnitTests {
  /** The name under which a failure outside any test method is told (set-up or tear-down of the class). */
  static final String WHOLE_CLASS = "(class)";

  private JUnitTests() {
  }

  static void run(Class<?> tests, Set<String> only, Events events) {
    JUnitCore core = new JUnitCore();
    core.addListener(new Listener(events));
    Request request = Request.aClass(tests);
    core.run(only.isEmpty() ? request : request.filterWith(new Named(only)));
  }

  private static String name(Description test) {
    return test.getMethodName() == null ? WHOLE_CLASS : test.getMethodName();
  }

  private static final class Named extends Filter {
    private final Set<String> names;

    Named(Set<String> names) {
      this.names = names;
    }

    @Override
    public boolean shouldRun(Description test) {
      return test.isTest() ? names.contains(name(test)) : test.getChildren().stream().anyMatch(this::shouldRun);
    }

    @Override
    public String describe() {
      return names.toString();
    }
  }

  private static final class Listener extends RunListener {
    private final Events events;
    /** Tests that failed or were skipped by an assumption: JUnit says "finished" of them as well. */
    private final Set<String> settled = new HashSet<>();

    Listener(Events events) {
      this.events = events;
    }

    @Override
    public void testStarted(Description test) {
      System.out.println("=== " + test.getDisplayName());
      events.started(name(test));
    }

    @Override
    public void testFinished(Description test) {
      if (!settled.remove(name(test))) {
        events.passed(name(test));
      }
    }

    @Override
    public void testFailure(Failure failure) {
      settled.add(name(failure.getDescription()));
      System.out.println("=== failed: " + failure.getTrace());
      events.failed(name(failure.getDescription()), failure.getException(), String.valueOf(failure.getException()));
    }

    @Override
    public void testAssumptionFailure(Failure failure) {
      settled.add(name(failure.getDescription()));
      events.skipped(name(failure.getDescription()), "assumption: " + failure.getMessage());
    }

    @Override
    public void testIgnored(Description test) {
      Ignore ignore = test.getAnnotation(Ignore.class);
      events.skipped(name(test), "ignored upstream" + (ignore == null || ignore.value().isEmpty() ? "" : ": " + ignore.value()));
    }
  }
}
