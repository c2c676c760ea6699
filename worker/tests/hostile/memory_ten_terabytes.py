# expect: runtime_error
# says: MemoryError
data = bytearray(10 << 40)
