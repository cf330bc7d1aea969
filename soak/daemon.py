"""A hudifs daemon as a process that is killed and started again on one mount point."""
import collections
import json
import os
import re
import subprocess
import threading
import time

START = 30.0            # seconds that a mount may take on a busy machine
DRAIN = 45.0            # seconds that it may take to end
SAMPLE = 0.25           # seconds between looks at its memory


class Daemon:
    def __init__(self, binary, source, mount, cache, log, *flags):
        self.command = [binary, "mount", "--foreground", "--cache-dir", cache, *flags, source, mount]
        self.mount, self.log_path = mount, log
        self.process = None
        self.lock = threading.Lock()        # held while it is meant to be dead
        self.done = collections.Counter()   # what they say they did
        self.peak = 0                       # bytes, of all that have run
        self.ending = threading.Event()
        self.watcher = threading.Thread(target=self.watch, daemon=True)
        self.death = None                   # how it died of itself

    def start(self):
        """Starts it, and returns how many seconds its mount took to be usable."""
        began = time.time()
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        while not self.usable():
            if self.process.poll() is not None:
                raise RuntimeError(f"hudifs ended with status {self.process.returncode}; see {self.log_path}")
            if time.time() - began > START:
                raise RuntimeError(f"the mount is not usable after {START} s; see {self.log_path}")
            time.sleep(0.01)
        if not self.watcher.is_alive():
            self.watcher.start()
        return time.time() - began

    def usable(self):
        try:
            return os.stat(self.mount).st_dev != os.stat(os.path.dirname(self.mount)).st_dev and bool(os.listdir(self.mount))
        except OSError:
            return False

    def kill(self):
        self.note()
        self.sample()
        self.process.kill()
        self.process.wait()

    def stop(self):
        """Ends it as a service manager does."""
        self.note()
        self.sample()
        self.process.terminate()
        try:
            status = self.process.wait(DRAIN)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise RuntimeError(f"hudifs did not end {DRAIN} s after SIGTERM") from None
        if status:
            raise RuntimeError(f"hudifs, told to end, ended with status {status}")

    def end(self):
        """Stops it for good."""
        self.ending.set()
        with self.lock:
            self.stop()

    def note(self):
        """Adds up what it tells of itself, before it ends."""
        table = sorted(os.listdir(self.mount))[0]
        with open(os.path.join(self.mount, table, ".hudi", "status")) as f:
            status = json.load(f)
        self.done.update({k: status["cache"][k] for k in ("renders", "hits", "fallbacks", "damaged", "evictions")})

    def sample(self):
        self.peak = max(self.peak, peak_memory(self.process.pid))

    def watch(self):
        """Follows its memory, and notices when it dies of itself."""
        while not self.ending.wait(SAMPLE):
            with self.lock:
                if self.process.poll() is not None:
                    self.death = f"hudifs died with status {self.process.returncode}"
                    return
                self.sample()


def peak_memory(pid):
    """The most resident memory that a process had so far, in bytes."""
    try:
        with open(f"/proc/{pid}/status") as f:
            found = re.search(r"VmHWM:\s*(\d+) kB", f.read())
    except OSError:
        return 0
    return int(found[1]) << 10 if found else 0
