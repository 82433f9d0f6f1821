#!/usr/bin/env python3
"""Kills and suspends Spark's executors, leaves them little memory, and drops their links, during shuffles whose every
byte is compared; looks for data that is wrong or missing, and for jobs that hang.

    spark_soak.py --tree TREE [--megabytes N] [--kills N] [--stops N] [--no-pressure] [--drop-rate RATE] [--seed N]

The cluster is a standalone one of this host; executors are real processes that die by SIGKILL or stand still by SIGSTOP.
Spark runs a stage again whose blocks are gone, and gives a job up that loses them four times in a row; then the round is
run again, and counted. Nothing depends on how fast it goes: only a watchdog says that something hangs, and it counts the
seconds in which it ran itself.
"""

import argparse
import glob
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

JOB = "io.howdah.examples.spark.ChecksummedShuffles"
EXECUTORS = 3
PARTITIONS = 12
VALUE = 20000
# Of a round; more rounds make more.
ROUND_MB = 96
WATCHDOG = 900
# What is lost is noticed within this time; Spark needs some heartbeats in it.
NETWORK_TIMEOUT = 40
SETTINGS = {
    "spark.shuffle.rdma.enabled": "true",
    "spark.shuffle.rdma.transport": "shm",
    "spark.network.timeout": "%ds" % NETWORK_TIMEOUT,
    "spark.shuffle.io.retryWait": "1s",
    "spark.executor.heartbeatInterval": "3s",
    # Tasks that fail because others died are tried again for as long as it takes.
    "spark.task.maxFailures": "1000",
    "spark.blacklist.enabled": "false",
    "spark.ui.enabled": "false",
    "spark.eventLog.enabled": "false",
}
LOGGING = """
log4j.logger.io.howdah.spark=INFO, blocks
log4j.appender.blocks=org.apache.log4j.FileAppender
log4j.appender.blocks.File=blocks.log
log4j.appender.blocks.layout=org.apache.log4j.PatternLayout
log4j.appender.blocks.layout.ConversionPattern=%d{ISO8601} %p %c{1}: %m%n
"""


class Failed(Exception):
    """What was looked for was found."""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Cluster:
    """A master and workers, each for one executor."""

    def __init__(self, options, folder):
        self.tree, self.folder, self.processes = options.tree, folder, []
        self.environment = dict(os.environ, SPARK_LOCAL_IP="127.0.0.1", SPARK_LOCAL_DIRS=os.path.join(folder, "local"))
        for name in ("HADOOP_HOME", "SPARK_HOME", "SPARK_CONF_DIR", "HADOOP_CLASSPATH", "HOWDAH_OPTS"):
            self.environment.pop(name, None)
        # An executor that dies is replaced, however often.
        self.environment["SPARK_DAEMON_JAVA_OPTS"] = "-Dspark.deploy.maxExecutorRetries=-1"
        port = free_port()
        self.master = "spark://127.0.0.1:%d" % port
        self.daemon("master", "Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
        self.wait("master", "Successfully started service .sparkMaster", 1)
        for number in range(EXECUTORS):
            work = os.path.join(folder, "work%d" % number)
            words = ["--host", "127.0.0.1", "--webui-port", "0", "-c", "1", "-m", "1g", "-d", work, self.master]
            self.daemon("worker%d" % number, "Worker", *words)
        self.wait("master", "Registering worker", EXECUTORS)

    def daemon(self, name, main, *words):
        main = "org.apache.spark.deploy.%s.%s" % (main.lower(), main)
        with open(self.log(name), "w") as log:
            command = [os.path.join(self.tree, "bin/spark-class"), main, *words]
            self.processes.append(
                subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment)
            )

    def log(self, name):
        return os.path.join(self.folder, name + ".log")

    def wait(self, name, pattern, count):
        for _ in range(WATCHDOG * 5):
            with open(self.log(name), errors="replace") as log:
                if len(re.findall(pattern, log.read())) >= count:
                    return
            time.sleep(0.2)
        raise Failed("%s does not say '%s'" % (self.log(name), pattern))

    def executors(self):
        """Pids, in order of what they work in."""
        found = []
        for process in glob.glob("/proc/[0-9]*"):
            try:
                with open(process + "/cmdline", "rb") as file:
                    java = b"CoarseGrainedExecutorBackend" in file.read()
                folder = os.readlink(process + "/cwd")
            except OSError:
                continue
            if java and folder.startswith(self.folder + "/"):
                found.append((folder, int(process[6:])))
        return [pid for _, pid in sorted(found)]

    def sums(self, pair):
        """Both numbers of an expression, each summed over the lines that executors of all applications have logged."""
        first = second = 0
        for log in glob.glob(self.folder + "/work*/app-*/*/blocks.log"):
            with open(log, errors="replace") as file:
                for found in re.finditer(pair, file.read()):
                    first, second = first + int(found.group(1)), second + int(found.group(2))
        return first, second

    def close(self):
        for pid in self.executors():
            send(pid, signal.SIGCONT)
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
        for pid in self.executors():
            send(pid, signal.SIGKILL)


def send(pid, what):
    try:
        os.kill(pid, what)
        return True
    except ProcessLookupError:
        return False


class Job:
    """The application, whose words are read by a thread of their own."""

    def __init__(self, cluster, name, pairs, settings):
        self.cluster, self.name, self.lines = cluster, name, []
        self.errors = cluster.log(name)
        logging = os.path.join(cluster.folder, "log4j.properties")
        with open(os.path.join(cluster.tree, "etc/spark/log4j.properties")) as theirs, open(logging, "w") as ours:
            ours.write(theirs.read() + LOGGING)
        command = [os.path.join(cluster.tree, "bin/spark-submit"), "--master", cluster.master, "--class", JOB]
        command += ["--executor-memory", "512m", "--driver-memory", "512m"]
        settings = dict(SETTINGS, **settings)
        settings["spark.executor.extraJavaOptions"] = "-Dlog4j.configuration=file:" + logging
        for key, value in settings.items():
            command += ["--conf", "%s=%s" % (key, value)]
        jars = glob.glob(os.path.join(cluster.tree, "jars/howdah-examples-*.jar"))
        command += [jars[0], *(str(number) for number in (PARTITIONS, pairs, VALUE))]
        with open(self.errors, "w") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=cluster.environment, text=True
            )
        self.rounds, self.seconds = 0, 0  # of the shortest
        cluster.processes.append(self.process)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            print("%s: %s" % (self.name, line.rstrip()), flush=True)
            self.lines.append(line.rstrip())

    def begin(self):
        """Has the job run one more round, and waits until it does."""
        self.rounds += 1
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self.watch(lambda: any(line == "round %d started" % self.rounds for line in self.lines))
        self.began = time.monotonic()

    def finish(self):
        """Waits until the round is done."""
        if not self.watch(lambda: any(line.startswith("round %d done" % self.rounds) for line in self.lines)):
            self.end()
            raise Failed("%s is over in round %d" % (self.name, self.rounds))
        seconds = time.monotonic() - self.began
        self.seconds = min(self.seconds or seconds, seconds)

    def over(self):
        return self.process.poll() is not None

    def watch(self, condition):
        """Waits for a condition or the job's end; False at its end. Fails if the job says nothing for too long."""
        heard, still = len(self.lines), 0
        while not condition():
            if self.over():
                return False
            time.sleep(0.1)
            if len(self.lines) != heard:
                heard, still = len(self.lines), 0
            still += 1
            if still > WATCHDOG * 10:
                raise Failed("%s said nothing for %d s\n%s" % (self.name, WATCHDOG, self.stacks()))
        return True

    def stacks(self):
        jstack = os.path.join(os.environ.get("JAVA_HOME", "/usr"), "bin/jstack")
        return "\n".join(
            subprocess.run([jstack, str(pid)], capture_output=True, text=True).stdout for pid in self.cluster.executors()
        )

    def end(self):
        self.process.stdin.close()
        self.watch(lambda: False)
        self.reader.join()
        status = self.process.returncode
        if status != 0:
            with open(self.errors, errors="replace") as log:
                print("".join(log.readlines()[-60:]))
            raise Failed("%s ended with %d, see %s" % (self.name, status, self.errors))

    def moved(self):
        return sum(int(re.search(r"of (\d+) bytes, 0 wrong", line).group(1)) for line in self.lines if " done: " in line)

    def given_up(self):
        return sum(1 for line in self.lines if "given up by Spark" in line)

    def failures(self):
        """Requests over the engine that executors saw fail, by what they logged as they ended."""
        return self.cluster.sums(r"\((\d+) requests, (\d+) failures\)")

    def refetched(self):
        """Stages that Spark ran again because blocks could not be fetched."""
        with open(self.errors, errors="replace") as log:
            return len(re.findall(r"Resubmitting .* due to fetch failure", log.read()))


def plan(options, rng):
    """What happens: one thing a round, so that the next has executors again."""
    faults = ["kill"] * options.kills
    for number in range(options.stops):
        # The first stands still for longer than anybody waits for it.
        faults.append(("stop", NETWORK_TIMEOUT * 1.5 if number == 0 and options.long_stop else rng.uniform(0.5, 5)))
    rng.shuffle(faults)
    return faults


def strike(job, fault, rng):
    """Does it to one of the executors that there are; returns whether there was one."""
    executors = job.cluster.executors()
    if not executors:
        return False
    pid = rng.choice(executors)
    if fault == "kill":
        print("kill -9 %d" % pid, flush=True)
        return send(pid, signal.SIGKILL)
    print("%d stands still for %.1f s" % (pid, fault[1]), flush=True)
    if not send(pid, signal.SIGSTOP):
        return False
    for _ in range(int(fault[1] * 10)):
        time.sleep(0.1)
    send(pid, signal.SIGCONT)
    return True


def struck(job, faults, rng, rounds):
    """Executors die and stand still while they shuffle."""
    for number, fault in enumerate([None] + faults + [None] * rounds):
        if number > rounds and fault is None:
            break
        job.begin()
        if fault is not None:
            time.sleep(rng.uniform(0, job.seconds * 0.9))
            while not strike(job, fault, rng):
                job.watch(job.cluster.executors)
        job.finish()
    job.end()
    killed = faults.count("kill")
    return report(job, "%d kills, %d stops" % (killed, len(faults) - killed))


def pressed(cluster, faults, rng, rounds, pairs):
    """The same with so little memory for map output that some of it goes to files, at other times in each run."""
    share = "%.2f" % rng.uniform(0.05, 0.3)
    print("pressure: %s of 48 MB for map output" % share, flush=True)
    settings = {"spark.shuffle.rdma.memory.limit": "48m", "spark.shuffle.rdma.memory.fraction": share}
    moved = struck(Job(cluster, "pressure", pairs, settings), faults, rng, rounds)
    if not cluster.sums(r"map output: (\d+) bytes in memory, (\d+) in files")[1]:
        raise Failed("no map output went to files: there was no pressure")
    return moved


def links(options, cluster, seed, rounds, pairs):
    """Links are dropped and transfers fail, by the engine itself."""
    prefix = "spark.shuffle.rdma.fault."
    settings = {prefix + "drop.rate": str(options.drop_rate), prefix + "error.rate": str(options.drop_rate)}
    job = Job(cluster, "links", pairs, dict(settings, **{prefix + "seed": str(seed or 1)}))
    for _ in range(rounds):
        job.begin()
        job.finish()
    job.end()
    requests, failures = job.failures()
    if not failures:
        raise Failed("none of %d requests failed: no fault struck" % requests)
    return report(job, "%d of %d requests failed" % (failures, requests))


def report(job, what):
    moved = job.moved()
    print(
        "%s: %d MB moved, all right; %s, %d stages run again for blocks that were gone, %d rounds given up by Spark and "
        "run again" % (job.name, moved >> 20, what, job.refetched(), job.given_up()),
        flush=True,
    )
    return moved


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--tree", required=True)
    parser.add_argument("--megabytes", type=int, default=10240, help="to move in all, at least (default 10240)")
    parser.add_argument("--round", type=int, default=ROUND_MB, metavar="MB", help="of a round (default %d)" % ROUND_MB)
    parser.add_argument("--kills", type=int, default=25)
    parser.add_argument("--stops", type=int, default=15)
    parser.add_argument("--no-long-stop", dest="long_stop", action="store_false", help="none beyond Spark's timeout")
    parser.add_argument("--no-pressure", dest="pressure", action="store_false", help="always memory for map output")
    parser.add_argument("--drop-rate", type=float, default=0.002, help="of dropped links (default 0.002)")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--folder", help="where everything goes; it stays (default: a temporary one, removed if all is well)")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(2**31)
    print("seed %d" % seed, flush=True)
    with tempfile.TemporaryDirectory(prefix="spark-soak-") as temporary:
        folder = os.path.realpath(options.folder or temporary)
        cluster = Cluster(options, folder)
        try:
            pairs = max(1, (options.round << 20) // (PARTITIONS * VALUE))
            parts = 3 if options.pressure else 2
            rounds = max(1, -(-options.megabytes // (parts * options.round)))
            rng = random.Random(seed)
            faults = plan(options, rng)
            later = len(faults) // 2 if options.pressure else 0
            moved = struck(Job(cluster, "kills", pairs, {}), faults[later:], rng, rounds)
            if options.pressure:
                moved += pressed(cluster, faults[:later], rng, rounds, pairs)
            moved += links(options, cluster, seed, rounds, pairs)
            print("%d MB moved, every byte compared" % (moved >> 20))
        finally:
            cluster.close()


if __name__ == "__main__":
    try:
        main()
    except Failed as problem:
        sys.exit("FAILED: %s" % problem)
