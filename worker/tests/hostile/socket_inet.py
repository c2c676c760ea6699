# expect: runtime_error PermissionError
import socket

socket.create_connection(("127.0.0.1", 80))
