"""What goes wrong while tables are read: a killed daemon, a damaged or vanished cache, a full disk."""
import contextlib
import fcntl
import os
import shutil
import time


class Chaos:
    def __init__(self, home, daemon, cache, record, rng, kill_writer):
        self.home, self.daemon, self.cache, self.record, self.rng, self.kill_writer = home, daemon, cache, record, rng, kill_writer
        self.files = os.path.join(cache, "files")
        self.counts = dict.fromkeys(("kills", "restarts", "flipped", "truncated", "caches removed", "full disks"), 0)
        self.recoveries = []        # seconds from a kill to a mount that can be used
        self.deck = []

    def next(self):
        """Does one of the things; in a while, each of them about as often."""
        if not self.deck:
            self.deck = [self.kill, self.kill, self.kill_and_damage, self.kill_and_damage, self.restart, self.damage, self.remove_cache, self.fill_disk, self.kill_writer]
            self.rng.shuffle(self.deck)
        self.deck.pop()()

    def kill(self, while_dead=lambda: None):
        with self.gone():
            self.daemon.kill()
            self.counts["kills"] += 1
            while_dead()
            self.recoveries.append(self.daemon.start())

    def restart(self):
        """Ends the daemon as a service manager does, while files are open."""
        with self.gone():
            self.daemon.stop()
            self.counts["restarts"] += 1
            self.daemon.start()

    @contextlib.contextmanager
    def gone(self):
        """While the daemon is meant to be dead."""
        with self.daemon.lock:
            self.record.put(down=time.time())
            yield
            self.record.put(up=time.time())

    def kill_and_damage(self):
        self.kill(self.damage_files)

    def damage(self):
        """Damages what no program has open; what is damaged while it is read nobody could notice."""
        with self.nobody_reading():
            self.damage_files(flip=False)

    def damage_files(self, flip=True):
        files = [os.path.join(at, f) for at, _, names in os.walk(self.files) for f in names]
        for path in self.rng.sample(sorted(files), min(len(files), 5)):
            with contextlib.suppress(FileNotFoundError):     # evicted meanwhile
                size = os.stat(path).st_size
                if not size:
                    continue
                at = self.rng.randrange(size)
                if flip and self.rng.random() < 0.7:
                    with open(path, "r+b") as f:
                        f.seek(at)
                        byte = f.read(1)[0]
                        f.seek(at)
                        f.write(bytes([byte ^ 1 << self.rng.randrange(8)]))
                    self.counts["flipped"] += 1
                else:
                    os.truncate(path, at)
                    self.counts["truncated"] += 1

    def remove_cache(self):
        with self.nobody_reading():
            if os.path.isdir(self.files):
                shutil.rmtree(self.files)
                self.counts["caches removed"] += 1

    def fill_disk(self):
        """Takes all of the cache's disk for some seconds, and what is given up meanwhile too."""
        filler = os.path.join(self.cache, "filler")
        end = time.time() + self.rng.uniform(3, 8)
        try:
            with open(filler, "wb", buffering=0) as f:
                while time.time() < end:
                    for size in (64 << 10, 4 << 10):
                        with contextlib.suppress(OSError):
                            while f.write(bytes(size)) == size:
                                pass
                    time.sleep(0.05)
            self.counts["full disks"] += 1
        finally:
            os.remove(filler)

    @contextlib.contextmanager
    def nobody_reading(self):
        """While no reader asks. The entrance keeps them from coming one after the other without end."""
        with open(os.path.join(self.home, "entrance")) as entrance, open(os.path.join(self.home, "gate")) as gate:
            fcntl.flock(entrance, fcntl.LOCK_EX)
            fcntl.flock(gate, fcntl.LOCK_EX)
            yield
