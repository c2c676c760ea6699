# expect: runtime_error
# says: can't start new thread
import threading

threading.Thread(target=print).start()
