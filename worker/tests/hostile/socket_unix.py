# expect: runtime_error PermissionError
import socket

socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
