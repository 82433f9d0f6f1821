"""A process of `howdah bench`'s RPC benchmark, driven from a test: a real Hadoop RPC server, or its clients."""

import json
import os
import select
import subprocess
import tempfile

# No answer may take longer; a test that waits this long has found a hang.
WATCHDOG = 180


class Hang(Exception):
    """A process did not answer within the watchdog's time."""


class Worker:
    """A worker JVM of a tree; commands are those of io.howdah.bench.rpc.Worker. Not thread-safe."""

    def __init__(self, name, tree, settings=(), folder=None):
        self.name = name
        self.log = tempfile.NamedTemporaryFile("w", prefix=name + "-", suffix=".log", dir=folder, delete=False).name
        environment = dict(os.environ, HADOOP_ROOT_LOGGER="INFO,console", HOWDAH_OPTS="-Xms64m -Xmx256m")
        for variable in ("HADOOP_HOME", "HADOOP_CONF_DIR", "SPARK_HOME", "HADOOP_CLASSPATH"):
            environment.pop(variable, None)
        command = [os.path.join(tree, "libexec", "howdah-bench"), "worker", *("-D" + setting for setting in settings)]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=environment
            )

    def ask(self, *words):
        """Sends a command and returns its answer; a failed command is an exception."""
        self.send(*words)
        return self.answer()

    def send(self, *words):
        self.process.stdin.write((" ".join(map(str, words)) + "\n").encode())
        self.process.stdin.flush()

    def answer(self):
        ready, _, _ = select.select([self.process.stdout], [], [], WATCHDOG)
        if not ready:
            raise Hang("%s did not answer in %d s\n%s" % (self.name, WATCHDOG, self.stacks()))
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError("%s ended (%s):\n%s" % (self.name, self.process.wait(), self.last_words()))
        answer = json.loads(line)
        if "error" in answer:
            raise AssertionError("%s: %s" % (self.name, answer["error"]))
        return answer

    def alive(self):
        return self.process.poll() is None

    def kill(self):
        """As the kernel's out-of-memory killer would: no word, no clean-up."""
        self.process.kill()
        self.process.wait()
        self._close_pipes()

    def close(self):
        """Ends it by closing its input."""
        if self.alive():
            try:
                self.process.stdin.close()
            except BrokenPipeError:
                pass
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self._close_pipes()

    def _close_pipes(self):
        for pipe in (self.process.stdin, self.process.stdout):
            try:
                pipe.close()
            except BrokenPipeError:
                pass

    def log_lines(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()

    def last_words(self):
        return "\n".join(self.log_lines()[-25:])

    def stacks(self):
        """What its threads do, in its own words."""
        jstack = os.path.join(os.environ.get("JAVA_HOME", "/usr"), "bin", "jstack")
        try:
            return subprocess.run([jstack, str(self.process.pid)], capture_output=True, text=True, timeout=60).stdout
        except (OSError, subprocess.TimeoutExpired) as error:
            return "no stacks: %s" % error
