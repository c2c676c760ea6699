# expect: runtime_error OSError
for i in range(1_000_000):
    open(f"/tmp/{i}", "w").close()
