# expect: runtime_error
# says: all denied
import os
import sys

for folder in ("/", "/worker", "/dev", "/usr/lib", "/packages/0", os.path.dirname(sys.executable), "/dev/shm", "/etc"):
    try:
        with open(folder + "/attack", "w") as file:
            file.write("x")
    except OSError:
        continue
    raise SystemExit("wrote to " + folder)
for path in ("/worker/record.py", "/dev/zero", "/dev/urandom"):
    try:
        os.close(os.open(path, os.O_WRONLY))
    except OSError:
        continue
    raise SystemExit("opened " + path)
with open("/tmp/allowed", "w") as file:
    file.write("x")
result = "all denied"
