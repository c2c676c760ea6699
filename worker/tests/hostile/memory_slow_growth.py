# expect: runtime_error
# says: MemoryError
blocks = []
try:
    while True:
        blocks.append(bytearray(b"x" * (16 << 20)))
except MemoryError:
    blocks.clear()
    raise
