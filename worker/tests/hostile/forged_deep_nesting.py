# expect: rejected forged_frame: too deep
import os
import struct

body = b"\x81\xa4plan" + b"\x91" * 5_000_000 + b"\xc0"
os.set_blocking(4, True)
data = struct.pack("<I", len(body)) + body
while data:
    data = data[os.write(4, data) :]
os._exit(0)
