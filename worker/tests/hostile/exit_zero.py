# expect: rejected exit: exit status 0
import os

os._exit(0)
