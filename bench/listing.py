"""Names and sizes of very many files, beside the folder that holds the table, whose names and inodes the kernel has cached."""
from functools import partial

from measure import Comparison, Experiment, command

NATIVE = "the table's folder"


def find(place):
    return Experiment(
        {"hudifs": partial(twice, place, by_name, fresh=True), NATIVE: partial(natively, place, by_name)},
        [
            Comparison(f"`find -name` over {place.tables.files:,} files, mounted anew", "first", NATIVE, 2),
            Comparison("the same, again", "again", NATIVE, 1),
        ],
    )


def sizes(place):
    twice(place, long, fresh=True)      # leaves the footers in the cache

    def fresh():
        return {"never read": twice(place, long, fresh=True)["first"]}

    def kept():
        on_disk, again = twice(place, long, fresh=False).values()
        return {"on disk": on_disk, "again": again}

    return Experiment(
        {"never read": fresh, "on disk": kept, NATIVE: partial(natively, place, long)},
        [
            Comparison(f"`ls -lR` of {place.tables.files:,} files, footers never read", "never read", NATIVE, 30),
            Comparison("the same, footers on disk, mounted anew", "on disk", NATIVE, 6),
            Comparison("the same, again", "again", NATIVE, 1.5),
        ],
    )


def by_name(folder):
    return command("find", folder, "-name", "*7f-0_*.parquet")


def long(folder):
    return command("ls", "-lR", folder)


def twice(place, work, fresh):
    """The table is mounted, with or without anything in the cache, and listed twice."""
    cache = place.fresh("cache") if fresh else place.path("cache")
    with place.mount(place.tables.path("files"), cache) as daemon:
        first = work(place.path("mnt/latest")) + daemon.used()
        return {"first": first, "again": daemon.during(partial(work, place.path("mnt/latest")))}


def natively(place, work):
    work(place.tables.path("files"))
    return work(place.tables.path("files"))


EXPERIMENTS = {"find": find, "ls": sizes}
