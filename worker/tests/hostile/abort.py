# expect: runtime_error
# says: crashed
import os

os.abort()
