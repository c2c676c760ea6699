# expect: runtime_error
# says: OSError
for i in range(1_000_000):
    open(f"/tmp/{i}", "w").close()
