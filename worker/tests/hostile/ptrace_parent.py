# expect: runtime_error
# says: -1
import ctypes
import os

result = ctypes.CDLL(None).ptrace(16, os.getppid(), 0, 0)
