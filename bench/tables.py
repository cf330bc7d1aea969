"""The tables that are measured, each written once and kept."""
import os
import shutil
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
READY = os.path.join(HERE, "..", "..", "shared", "bench", "mor_500k.zip")     # of 500,000 rows, beside the repository


class Tables:
    """The tables in a folder, which is filled as they are asked for."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder, exist_ok=True)

    def path(self, name):
        table = os.path.join(self.folder, name)
        if not os.path.exists(table):
            part = table + ".part"
            shutil.rmtree(part, ignore_errors=True)
            MAKERS[name](part)
            os.rename(part, table)
        return table


def random(target):
    with zipfile.ZipFile(READY) as z:
        z.extractall(target)


MAKERS = {"random": random}
