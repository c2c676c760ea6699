# expect: timeout
# says: longer than
# wall: 0.5
import time

time.sleep(1000)
