# expect: runtime_error PermissionError
import os

os.memfd_create("hoard")
