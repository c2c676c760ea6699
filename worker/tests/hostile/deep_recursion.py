# expect: runtime_error
import sys

sys.setrecursionlimit(1 << 30)
nested = []
for _ in range(50_000):
    nested = [nested]
repr(nested)
