# expect: runtime_error
# says: PermissionError
import os

os.kill(-1, 9)
