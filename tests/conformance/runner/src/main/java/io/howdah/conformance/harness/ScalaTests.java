package io.howdah.conformance.harness;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.scalatest.Reporter;
import org.scalatest.events.Event;
import org.scalatest.events.SuiteAborted;
import org.scalatest.events.RunAborted;
import org.scalatest.events.TestCanceled;
import org.scalatest.events.TestFailed;
import org.scalatest.events.TestIgnored;
import org.scalatest.events.TestPending;
import org.scalatest.events.TestStarting;
import org.scalatest.events.TestSucceeded;
import org.scalatest.tools.Runner;
import scala.Option;

/** Runs a ScalaTest suite through ScalaTest's own runner. */
public final class ScalaTests {
  /** ScalaTest makes the reporter itself, by class name: this is how it finds the way back. */
  private static Events events;

  private ScalaTests() {
  }

  static void run(Class<?> suite, Set<String> only, Events to) {
    events = to;
    List<String> args = new ArrayList<>();
    args.add("-oF");
    args.add("-C");
    args.add(EventReporter.class.getName());
    args.add("-s");
    args.add(suite.getName());
    for (String test : only) {
      args.add("-t");
      args.add(test);
    }
    Runner.run(args.toArray(new String[0]));
  }

  /** Public, with a public constructor, because ScalaTest makes it. */
  public static final class EventReporter implements Reporter {
    @Override
    public void apply(Event event) {
      if (event instanceof TestStarting) {
        events.started(((TestStarting) event).testName());
      } else if (event instanceof TestSucceeded) {
        events.passed(((TestSucceeded) event).testName());
      } else if (event instanceof TestFailed) {
        TestFailed failed = (TestFailed) event;
        events.failed(failed.testName(), cause(failed.throwable()), failed.message());
      } else if (event instanceof TestIgnored) {
        events.skipped(((TestIgnored) event).testName(), "ignored upstream");
      } else if (event instanceof TestPending) {
        events.skipped(((TestPending) event).testName(), "pending upstream");
      } else if (event instanceof TestCanceled) {
        events.skipped(((TestCanceled) event).testName(), "assumption: " + ((TestCanceled) event).message());
      } else if (event instanceof SuiteAborted) {
        SuiteAborted aborted = (SuiteAborted) event;
        events.failed(JUnitTests.WHOLE_CLASS, cause(aborted.throwable()), aborted.message());
      } else if (event instanceof RunAborted) {
        RunAborted aborted = (RunAborted) event;
        events.failed(JUnitTests.WHOLE_CLASS, cause(aborted.throwable()), aborted.message());
      }
    }

    private static Throwable cause(Option<Throwable> throwable) {
      return throwable.isDefined() ? throwable.get() : null;
    }
  }
}
