# expect: runtime_error PermissionError
import os

while True:
    os.fork()
