# expect: runtime_error
# says: ?[2J
reply = {"ok": False, "kind": "runtime_error", "message": "\x1b[2J\x07"}
