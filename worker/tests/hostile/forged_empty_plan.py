# expect: rejected forged_frame
reply = {"ok": True, "plan": {}}
