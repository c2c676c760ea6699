# expect: timeout CPU
while True:
    pass
