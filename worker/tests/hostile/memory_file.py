# expect: runtime_error
# says: PermissionError
import os

os.memfd_create("hoard")
