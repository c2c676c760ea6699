# expect: runtime_error MemoryError
data = bytearray(10 << 40)
