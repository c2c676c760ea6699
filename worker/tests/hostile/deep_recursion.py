# expect: runtime_error
import sys

sys.setrecursionlimit(1 << 30)


def dive(_=None):
    return max([0], key=dive)  # through C, so that the machine's stack grows, too


dive()
