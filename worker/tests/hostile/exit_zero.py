# expect: rejected
# rule: exit
# says: exit status 0
import os

os._exit(0)
