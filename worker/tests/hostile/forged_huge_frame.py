# expect: rejected forged_frame: more bytes
import os

while True:
    os.write(4, b"x" * (1 << 20))
