# expect: rejected
# rule: forged_frame
# says: infra_error
reply = {"ok": False, "kind": "infra_error", "message": "try me again"}
