# expect: runtime_error
# says: all denied
import os
import stat

for kind in (stat.S_IFBLK, stat.S_IFCHR, stat.S_IFIFO, stat.S_IFSOCK):
    try:
        os.mknod("/tmp/node", kind | 0o600, os.makedev(1, 1))
    except OSError:
        continue
    raise SystemExit(f"made a node of kind {kind:o}")
result = "all denied"
