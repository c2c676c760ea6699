# expect: timeout
# says: CPU
while True:
    pass
