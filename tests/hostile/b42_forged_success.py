# A frame of its own on every descriptor, that says that all is well, and an exit before the real one.
# task: relu
# expect: rejected
# rule: forged_frame
import os

frame = b"\x82\xa2ok\xc3\xa7verdict\xa6passed"
for descriptor in range(1, 64):
    try:
        os.write(descriptor, len(frame).to_bytes(4, "little") + frame)
    except OSError:
        pass
os._exit(0)
