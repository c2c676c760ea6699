# expect: runtime_error PermissionError
import os

os.setsid()
if os.fork() == 0:
    while True:
        pass
