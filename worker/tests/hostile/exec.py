# expect: runtime_error
# says: PermissionError
import os
import sys

os.execv(sys.executable, [sys.executable, "-c", "print('out')"])
