# expect: rejected
# rule: exit
import os

os.closerange(0, 100)
