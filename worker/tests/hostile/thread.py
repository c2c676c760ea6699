# expect: runtime_error can't start new thread
import threading

threading.Thread(target=print).start()
