# expect: runtime_error
# says: PermissionError
import os

while True:
    os.fork()
