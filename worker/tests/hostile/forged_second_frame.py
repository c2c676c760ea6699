# expect: rejected
# rule: forged_frame
import os
import struct

body = b"\x81\xa2ok\xc3"  # {"ok": true}
os.write(4, struct.pack("<I", len(body)) + body)
