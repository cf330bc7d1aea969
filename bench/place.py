"""Where a benchmark works: the binary, the tables, a scratch folder, and the state of the page cache."""
import os
import shutil
import subprocess
import tempfile

from daemon import Daemon
from measure import job
from tables import ROOT


class Place:
    def __init__(self, binary, tables, scratch, spark):
        self.binary, self.tables, self.spark = binary, tables, spark
        os.makedirs(scratch, exist_ok=True)
        self.scratch = tempfile.mkdtemp(dir=scratch)

    def clear(self):
        shutil.rmtree(self.scratch)

    def path(self, name):
        return os.path.join(self.scratch, name)

    def fresh(self, name):
        """A folder without anything in it."""
        shutil.rmtree(self.path(name), ignore_errors=True)
        os.makedirs(self.path(name))
        return self.path(name)

    def mount(self, table, cache, *options):
        return Daemon(self.binary, table, self.path("mnt"), cache, *options)

    def copy(self, table, view, target):
        """Puts a view's finished files on the disk."""
        shutil.rmtree(target, ignore_errors=True)
        subprocess.run([self.binary, "cp", "--cache-dir", self.fresh("copying"), table, view, target], check=True)
        shutil.rmtree(self.path("copying"))

    def spark_job(self, *args):
        """Runs a function of spark_jobs.py in a Spark of its own, which measures itself too."""
        with open(os.path.join(self.tables.folder, "spark.log"), "w") as log:
            return job(*args, python=os.path.join(ROOT, "scripts", "spark.sh"), program=os.path.join(ROOT, "bench", "spark_jobs.py"), log=log)


def warm(folder):
    """Reads every file, so that the page cache has them."""
    for path in files(folder):
        with open(path, "rb", buffering=0) as f:
            while f.read(1 << 20):
                pass


def cold(folder):
    """Drops every file from the page cache. Their names and inodes stay cached: only root could drop those, and for the whole machine."""
    os.sync()
    for path in files(folder):
        with open(path, "rb", buffering=0) as f:
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def files(folder):
    for parent, _, names in os.walk(folder):
        for name in names:
            yield os.path.join(parent, name)


STATES = {"warm": warm, "cold": cold}
