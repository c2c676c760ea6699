# expect: runtime_error
# says: Error
import mmap

keep = [mmap.mmap(-1, 1 << 30) for _ in range(100)]
