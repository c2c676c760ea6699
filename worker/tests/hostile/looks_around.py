# expect: runtime_error
# says: nothing to see
import os
import socket
import sys

seen = []
allowed = {"HOME", "TMPDIR", "USER", "LANG", "PYTHONHASHSEED", "OMP_NUM_THREADS", "MKL_NUM_THREADS",
           "OPENBLAS_NUM_THREADS", "PYTHONMALLOC", "GLIBC_TUNABLES", "PATH", "TRITON_HOME", "LC_CTYPE"}
seen += [name for name in os.environ if name not in allowed and not name.startswith(("TORCH", "TRITON", "KMP", "CUDA"))]
seen += [path for path in ("/proc/1/environ", "/proc/self/maps", "/sys/class/net", "/etc/passwd", "/etc/hostname", "/home",
                           "/work", "/var", "/mnt", "/old", "/run", "/dev/shm", "/bin/sh", "/usr/bin/env") if os.path.exists(path)]
seen += [entry for entry in os.listdir("/tmp")]
for fd in range(5, 1000):
    try:
        os.fstat(fd)
    except OSError:
        continue
    seen.append(f"descriptor {fd}")
if socket.gethostname() != "jail":
    seen.append("host name " + socket.gethostname())
if os.getcwd() != "/tmp":
    seen.append("working folder " + os.getcwd())
if (os.getpid(), os.getppid()) != (1, 0):
    seen.append(f"process {os.getpid()} of {os.getppid()}")
if any("/" in argument and not argument.startswith(("/worker", "/packages")) for argument in sys.argv):
    seen.append(f"arguments {sys.argv}")
result = seen or "nothing to see"
