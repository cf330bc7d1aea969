#!/usr/bin/env python3
"""Reads one view on many hosts: a Spark cluster of a driver and two workers, each with a mount by its own daemon, at the same path, without a shared cache.

usage: cluster.py [HUDIFS]

The hosts are mount and process namespaces of this machine, so root is needed; with the Python of scripts/spark.sh.
What is read is in driver.py.
"""
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import pyspark

import driver
import writer

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
LIMIT = 900     # seconds for all of it, on a busy machine


class Cluster:
    def __init__(self, hudifs, home):
        self.hudifs, self.home = hudifs, home
        self.processes = []
        for folder in ("tables", "journal", "mount"):
            os.mkdir(self.path(folder))
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.environment = {
            **os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOG_DIR": home, "SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": writer.JAVA,
        }

    def path(self, *parts):
        return os.path.join(self.home, *parts)

    def spark_class(self, name, *args):
        return [os.path.join(pyspark.__path__[0], "bin", "spark-class"), "org.apache.spark.deploy." + name, *args]

    def run(self, name, command):
        with open(self.path(name + ".log"), "ab") as log:
            p = subprocess.Popen(["nice", *command], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.home, env=self.environment)
        self.processes.append((name, p))
        return p

    def host(self, name, poll, command):
        """Runs a command on a host of its own: what it mounts nobody else sees, and its end is the end of all that ran there."""
        cache = self.path("cache-" + name)
        mount = [self.hudifs, "mount", "--cache-dir", cache, "--log-file", self.path(f"hudifs-{name}.log"), "--poll-interval", poll, self.path("tables"), self.path("mount")]
        return self.run(name, ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", '"$@" || exit 1; shift $#; ' + quoted(command), "sh", *mount])

    def start(self):
        self.make_tables()
        self.run("master", self.spark_class("master.Master", "--host", "127.0.0.1", "--port", str(self.port), "--webui-port", "0"))
        self.await_port()
        for n in (1, 2):
            # A worker's daemon that does not look for commits itself has to find what the driver's has listed.
            self.host(f"worker-{n}", "1h", self.spark_class(
                "worker.Worker", "--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--webui-port", "0", "--work-dir", self.path(f"work-{n}"), f"spark://127.0.0.1:{self.port}"))
        return self.host("driver", "200ms", [sys.executable, os.path.join(HERE, "driver.py"), f"spark://127.0.0.1:{self.port}", self.home])

    def make_tables(self):
        """Makes the first instants of the tables, so that they are there when they are mounted."""
        open(self.path("stop"), "w").close()
        p = self.run("writer", [sys.executable, os.path.join(HERE, "writer.py"), driver.RELEASE, self.home, "0", *driver.TABLES])
        if p.wait(LIMIT):
            raise RuntimeError(f"writer ended with status {p.returncode}")
        self.processes.pop()

    def await_port(self):
        limit = time.time() + 120
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                if time.time() > limit:
                    raise
                time.sleep(0.2)

    def await_driver(self, process):
        limit = time.time() + LIMIT
        while process.poll() is None:
            for name, p in self.processes:
                if p is not process and p.poll() is not None:
                    raise RuntimeError(f"{name} ended with status {p.returncode}")
            if time.time() > limit:
                raise RuntimeError(f"the driver is not done after {LIMIT} s")
            time.sleep(0.2)
        return process.returncode

    def stop(self):
        for _, p in reversed(self.processes):
            p.kill()        # unshare takes the whole host with it
            p.wait()


def quoted(command):
    return "exec " + " ".join("'" + c.replace("'", "'\\''") + "'" for c in command)


def main():
    if os.geteuid() != 0:
        sys.exit("cluster: only root can make hosts out of namespaces")
    home = tempfile.mkdtemp(prefix="hudifs-cluster-")
    cluster = Cluster(os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else os.path.join(ROOT, "hudifs"), home)
    try:
        status = cluster.await_driver(cluster.start())
    except RuntimeError as e:
        print(f"cluster: {e}")
        status = 1
    finally:
        cluster.stop()
    log = ""
    if os.path.exists(cluster.path("driver.log")):
        with open(cluster.path("driver.log"), errors="replace") as f:
            log = f.read()
    if status:
        sys.exit(f"{log[-3000:]}\ncluster: failed; what is left of the run lies in {home}")
    print("".join(line for line in log.splitlines(True) if line.startswith("cluster:")), end="")
    shutil.rmtree(home)


if __name__ == "__main__":
    main()
