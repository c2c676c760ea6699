# expect: runtime_error crashed
import os

os.abort()
