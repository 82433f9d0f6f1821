package io.howdah.pipeline;

import com.lesfurets.jenkins.unit.BasePipelineTest;
import groovy.lang.Closure;
import java.nio.file.FileSystems;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * Runs a declarative pipeline. JenkinsPipelineUnit 1.1 mocks steps; the words of the declarative language are mocked
 * here, as far as ci/Jenkinsfile has them. Any other word is a MissingMethodException.
 */
class DeclarativePipeline extends BasePipelineTest {
  /** What a step, or Jenkins for a credential, was asked to do. */
  static final class Step {
    final String stage;
    final String agent;
    final String word;
    final String argument;

    Step(String stage, String agent, String word, String argument) {
      this.stage = stage;
      this.agent = agent;
      this.word = word;
      this.argument = argument;
    }

    @Override
    public String toString() {
      return stage + " on " + agent + ": " + word + " " + argument;
    }
  }

  /** A stage that runs; the outermost is the pipeline itself. */
  private static final class Stage {
    final String name;
    final Stage outer;
    String agent;
    boolean wanted = true;
    boolean parallel;
    boolean failed;
    boolean post;

    Stage(String name, Stage outer) {
      this.name = name;
      this.outer = outer;
      this.agent = outer == null ? null : outer.agent;
    }
  }

  /** Parameters that were chosen; the pipeline's own defaults join them. */
  final Map<String, Object> params = new HashMap<>();
  /** The tag that is built, or null. */
  String tag;
  /** Which commands fail. */
  Predicate<String> failing = command -> false;
  final List<Step> steps = new ArrayList<>();
  /** Stages beside others. */
  final List<String> branches = new ArrayList<>();
  private Stage at;

  /** Runs a pipeline from its first word to its last. */
  void run(Path file) throws Exception {
    setScriptRoots(new String[] {file.toAbsolutePath().getParent().toString()});
    setUp();
    getBinding().setVariable("none", "none");
    getBinding().setVariable("params", params);
    allowStructure();
    allowStages();
    allowConditions();
    allowSteps();
    at = new Stage("pipeline", null);
    runScript(file.getFileName().toString());
    if (at.failed) {
      updateBuildStatus("FAILURE");
    }
  }

  /** The arguments of a step's calls, in order. */
  List<String> calls(String word) {
    return steps.stream().filter(s -> s.word.equals(word)).map(s -> s.argument).collect(Collectors.toList());
  }

  /** The repository. */
  static Path root() {
    return Paths.get(System.getProperty("howdah.root"));
  }

  private void allowStructure() {
    for (String block : Arrays.asList("pipeline", "options", "parameters")) {
      allow(block, Closure.class, null);
    }
    getHelper().registerAllowedMethod("timestamps", signature(), null);
    allow("timeout", Map.class, null);
    allow("booleanParam", Map.class,
        of((Map<?, ?> p) -> params.putIfAbsent((String) p.get("name"), p.get("defaultValue"))));
    allow("agent", String.class, of((String value) -> at.agent = value.equals("none") ? null : value));
    allow("agent", Closure.class, whereWanted());
    allow("label", String.class, of((String value) -> at.agent = value));
    allow("environment", Closure.class, whereWanted());
    allow("credentials", String.class, of((String id) -> record("credentials", id)));
  }

  private void allowStages() {
    getHelper().registerAllowedMethod("stage", signature(String.class, Closure.class), new Closure<Object>(this) {
      public Object doCall(String name, Closure<?> body) {
        stage(name, body);
        return null;
      }
    });
    for (String block : Arrays.asList("stages", "steps")) {
      allow(block, Closure.class, whereWanted());
    }
    allow("parallel", Closure.class, of((Closure<?> body) -> {
      at.parallel = true;
      call(body, at.wanted);
    }));
    allow("post", Closure.class, of((Closure<?> body) -> {
      at.post = true;
      call(body, at.wanted);
    }));
    allow("always", Closure.class, of((Closure<?> body) -> call(body, true)));
    allow("success", Closure.class, of((Closure<?> body) -> call(body, !at.failed)));
    allow("failure", Closure.class, of((Closure<?> body) -> call(body, at.failed)));
  }

  private void allowConditions() {
    allow("when", Closure.class, null);
    allow("beforeAgent", Boolean.class, null);
    allow("expression", Closure.class, of((Closure<?> body) -> at.wanted &= Boolean.TRUE.equals(body.call())));
    allow("tag", String.class, of((String pattern) -> at.wanted &= tag != null
        && FileSystems.getDefault().getPathMatcher("glob:" + pattern).matches(Paths.get(tag))));
  }

  private void allowSteps() {
    allow("sh", String.class, of((String command) -> {
      record("sh", command);
      at.failed |= failing.test(command);
    }));
    allow("junit", String.class, of((String pattern) -> record("junit", pattern)));
    allow("archiveArtifacts", Map.class,
        of((Map<?, ?> what) -> record("archiveArtifacts", (String) what.get("artifacts"))));
  }

  /** After a failure Jenkins skips what follows, but not what stands beside it. */
  private void stage(String name, Closure<?> body) {
    Stage outer = at;
    if (outer.failed && !outer.parallel) {
      return;
    }
    at = new Stage(name, outer);
    call(body, true);
    if (outer.parallel && at.wanted) {
      branches.add(name);
    }
    outer.failed |= at.failed;
    at = outer;
  }

  private void record(String word, String argument) {
    if (at.failed && !at.post) {
      return;
    }
    Step step = new Step(at.name, at.agent, word, argument);
    if (at.agent == null) {
      throw new IllegalStateException("no agent for " + step);
    }
    steps.add(step);
  }

  private void call(Closure<?> body, boolean wanted) {
    if (wanted) {
      getHelper().callClosure(body);
    }
  }

  private Closure<Object> whereWanted() {
    return of((Closure<?> body) -> call(body, at.wanted));
  }

  /** What the script gets of it is true, as of a mock that answers nothing in particular. */
  private <T> Closure<Object> of(Consumer<T> action) {
    return new Closure<Object>(this) {
      @SuppressWarnings("unchecked")
      public Object doCall(Object argument) {
        action.accept((T) argument);
        return true;
      }
    };
  }

  private void allow(String word, Class<?> argument, Closure<Object> mock) {
    getHelper().registerAllowedMethod(word, signature(argument), mock);
  }

  @SuppressWarnings("rawtypes")
  private static List<Class> signature(Class<?>... arguments) {
    return Arrays.<Class>asList(arguments);
  }
}
