# expect: rejected
# rule: exit
# says: exit status 3
import os

os._exit(3)
