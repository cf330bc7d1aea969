"""A mount by the hudifs that is measured, for as long as a with statement lasts."""
import os
import subprocess
import time

from measure import Sample, process_cpu, process_peak


class Daemon:
    """Mounts table at mountpoint, with its cache in the folder cache."""

    def __init__(self, binary, table, mountpoint, cache, *options):
        self.binary, self.mountpoint = binary, mountpoint
        os.makedirs(mountpoint, exist_ok=True)
        os.makedirs(cache, exist_ok=True)
        self.command = [binary, "mount", "--foreground", "--log-level", "warn", "--cache-dir", cache, *options, table, mountpoint]

    def __enter__(self):
        began = time.perf_counter()
        self.process = subprocess.Popen(self.command, start_new_session=True)   # Ctrl-C is ours: the daemon ends with the with statement
        try:
            while not os.path.ismount(self.mountpoint):
                if self.process.poll() is not None:
                    raise RuntimeError(f"{' '.join(self.command)}: exit status {self.process.returncode}")
                time.sleep(0.001)
        except BaseException:
            self.process.terminate()
            raise
        self.start = time.perf_counter() - began
        return self

    def __exit__(self, *_):
        subprocess.run([self.binary, "umount", self.mountpoint], check=True)
        self.process.wait(timeout=60)

    def used(self):
        """What the daemon has used since it was started; the wall time is that until it had mounted."""
        return Sample(process_cpu(self.process.pid), self.start, process_peak(self.process.pid))

    def during(self, work):
        """What work and, meanwhile, the daemon use."""
        before = process_cpu(self.process.pid)
        sample = work()
        return sample + Sample(process_cpu(self.process.pid) - before, 0)
