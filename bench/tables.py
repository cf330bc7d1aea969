"""The tables that are measured, each made once and kept."""
import os
import shutil
import subprocess
import sys
import zipfile

import many_files

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
READY = os.path.join(os.path.dirname(ROOT), "shared", "bench", "mor_500k.zip")      # a table like "random", of READY_ROWS
READY_ROWS = 500_000
HUDI = "1.1.1"


class Tables:
    """The tables in a folder, which is filled as they are asked for: of so many rows, with so many commits, or of so many files."""

    def __init__(self, folder, rows, commits, files):
        self.folder, self.files = folder, files
        # Fewer rows where the measure allows it, for Spark is slow.
        self.sizes = {"random": (rows,), "clustered": (rows,), "wide": (rows // 2,), "cow": (rows,), "commits": (rows // 5, commits), "files": (files,)}
        os.makedirs(folder, exist_ok=True)

    def path(self, name):
        size = self.sizes[name]
        table = os.path.join(self.folder, "-".join(map(str, (name, *size))))
        if not os.path.exists(table):
            part = table + ".part"
            shutil.rmtree(part, ignore_errors=True)
            print(f"bench: making the table {name}", file=sys.stderr)
            self.make(name, part, size)
            os.rename(part, table)
        return table

    def make(self, name, target, size):
        if name == "files":
            many_files.write(target, *size)
        elif name == "random" and size == (READY_ROWS,) and os.path.exists(READY):
            with zipfile.ZipFile(READY) as z:
                z.extractall(target)
        else:
            self.spark(name, target, size)

    def spark(self, name, target, size):
        """Has Spark and Hudi write a table."""
        log = os.path.join(self.folder, "spark.log")
        command = [os.path.join(ROOT, "scripts", "spark.sh"), os.path.join(ROOT, "bench", "spark_tables.py"), name, target, *map(str, size)]
        with open(log, "w") as f:
            if subprocess.run(command, stdout=f, stderr=f).returncode:
                sys.exit(f"bench: Spark could not write the table {name}, see {log}")
