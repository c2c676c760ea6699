# expect: runtime_error
# says: crashed: signal 11
import ctypes

ctypes.string_at(0)
