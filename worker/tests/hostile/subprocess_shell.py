# expect: runtime_error
# says: PermissionError
import subprocess

subprocess.run(["/bin/sh", "-c", "id"])
