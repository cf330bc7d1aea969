"""What goes wrong while tables are read: a killed daemon, a damaged or vanished cache, a full disk."""
import contextlib
import fcntl
import os
import shutil
import time


class Chaos:
    def __init__(self, daemon, cache, gate, record, rng):
        self.daemon, self.cache, self.gate, self.record, self.rng = daemon, cache, gate, record, rng
        self.files = os.path.join(cache, "files")
        self.counts = dict.fromkeys(("kills", "flipped", "truncated", "caches removed", "full disks"), 0)
        self.recoveries = []        # seconds from a kill to a mount that can be used
        self.deck = []

    def next(self):
        """Does one of the things; in a while, each of them about as often."""
        if not self.deck:
            self.deck = [self.kill, self.kill_and_damage, self.damage, self.kill_and_damage, self.remove_cache, self.fill_disk]
            self.rng.shuffle(self.deck)
        self.deck.pop()()

    def kill(self, while_dead=lambda: None):
        with self.daemon.lock:
            began = time.time()
            self.record.put(down=began)
            self.daemon.kill()
            self.counts["kills"] += 1
            while_dead()
            took = self.daemon.start()
            self.record.put(up=time.time())
        self.recoveries.append(took)

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
        """Takes all of the cache's disk for some seconds."""
        filler = os.path.join(self.cache, "filler")
        try:
            with open(filler, "wb", buffering=0) as f, contextlib.suppress(OSError):
                while True:
                    f.write(bytes(64 << 10))
            self.counts["full disks"] += 1
            time.sleep(self.rng.uniform(3, 8))
        finally:
            os.remove(filler)

    @contextlib.contextmanager
    def nobody_reading(self):
        with open(self.gate) as f:
            fcntl.flock(f, fcntl.LOCK_EX)
            yield
