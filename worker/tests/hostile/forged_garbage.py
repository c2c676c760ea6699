# expect: rejected
# rule: forged_frame
import os

os.write(4, b"\xff" * 1000)
os._exit(0)
