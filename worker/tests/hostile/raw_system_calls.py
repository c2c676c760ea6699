# expect: runtime_error
# says: all denied
import ctypes

libc = ctypes.CDLL(None, use_errno=True)
numbers = {
    "clone": 56, "fork": 57, "vfork": 58, "ptrace": 101, "process_vm_readv": 310, "bpf": 321, "perf_event_open": 298,
    "userfaultfd": 323, "io_uring_setup": 425, "clone3": 435, "keyctl": 250, "add_key": 248, "shmget": 29, "msgget": 68,
    "semget": 64, "mq_open": 240, "inotify_init1": 294, "open_by_handle_at": 304, "name_to_handle_at": 303,
    "kexec_load": 246, "init_module": 175, "setsid": 112, "sendmsg": 46, "sendfile": 40, "splice": 275, "pidfd_open": 434,
    "pidfd_getfd": 438, "memfd_secret": 447, "symlink": 88, "link": 86, "chmod": 90, "prctl(dumpable)": 157,
    "sysinfo": 99,
}
made = [name for name, number in numbers.items() if libc.syscall(number, 4, 1, 0, 0, 0, 0) != -1]
result = f"made {made}" if made else "all denied"
