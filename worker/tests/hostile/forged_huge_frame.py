# expect: rejected
# rule: forged_frame
# says: more bytes
import os

while True:
    os.write(4, b"x" * (1 << 20))
