# expect: runtime_error PermissionError
import subprocess

subprocess.run(["/bin/sh", "-c", "id"])
