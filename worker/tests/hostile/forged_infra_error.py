# expect: rejected forged_frame: infra_error
reply = {"ok": False, "kind": "infra_error", "message": "try me again"}
