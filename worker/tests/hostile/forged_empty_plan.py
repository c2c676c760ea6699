# expect: rejected
# rule: forged_frame
reply = {"ok": True, "plan": {}}
