# expect: rejected exit
import os

os.closerange(0, 100)
