# expect: runtime_error
# says: Error
for i in range(1000):
    with open(f"/tmp/{i}", "wb") as file:
        file.write(b"x" * (8 << 20))
