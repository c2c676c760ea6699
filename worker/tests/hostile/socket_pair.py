# expect: runtime_error PermissionError
import socket

socket.socketpair()
