# expect: runtime_error
# says: PermissionError
import os

os.setsid()
if os.fork() == 0:
    while True:
        pass
