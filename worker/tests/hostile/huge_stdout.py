# expect: runtime_error
# says: done
import sys

for _ in range(200):
    sys.stdout.write("x" * (1 << 20))
