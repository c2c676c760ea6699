# expect: runtime_error PermissionError
import os

os.kill(os.getppid(), 9)
