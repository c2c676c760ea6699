# expect: runtime_error
# says: PermissionError
import socket

socket.socketpair()
