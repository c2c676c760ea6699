# expect: runtime_error
# says: PermissionError
import os

os.kill(os.getppid(), 9)
