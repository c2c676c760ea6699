# expect: runtime_error PermissionError
import os
import sys

os.execv(sys.executable, [sys.executable, "-c", "print('out')"])
