# expect: rejected
# rule: forged_frame
# says: nest
import os
import struct

body = b"\x81\xa4plan" + b"\x91" * 5_000_000 + b"\xc0"
data = struct.pack("<I", len(body)) + body
while data:
    data = data[os.write(4, data) :]
os._exit(0)
