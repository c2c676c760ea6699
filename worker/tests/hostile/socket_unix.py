# expect: runtime_error
# says: PermissionError
import socket

socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
