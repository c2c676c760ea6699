# expect: runtime_error
# says: -1
import ctypes

result = ctypes.CDLL(None).daemon(0, 0)
