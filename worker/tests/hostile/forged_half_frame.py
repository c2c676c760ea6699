# expect: rejected
# rule: forged_frame
import os
import struct

os.write(4, struct.pack("<I", 1000) + b"\x81")
os._exit(0)
