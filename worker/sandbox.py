"""What one child may do: the second fence, inside the jail that src/record/jail.cc builds.

`enter` runs in the forked child before any code of a candidate. Its steps are in order, and each either holds or raises
OSError; docs/threat_model.md says what each is good for.
"""

import ctypes
import dataclasses
import errno
import os
import resource
import struct

CLONE_NEWNS = 0x00020000
CLONE_NEWPID = 0x20000000
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 2, 4, 8
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP = 1, 4, 22
_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 24, 38
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
_SECCOMP_MODE_FILTER = 2
_SIGKILL = 9
_TMP_BYTES = 64 << 20
_FILE_BYTES = 32 << 20
_PROCESSES = 256  # of all children of a zygote whose children may start programs

# The same numbers on every architecture that Triton runs on.
_SYS_LANDLOCK_CREATE, _SYS_LANDLOCK_ADD, _SYS_LANDLOCK_RESTRICT = 444, 445, 446
_LANDLOCK_RULE_PATH_BENEATH = 1
_EXECUTE, _READ_FILE, _READ_FOLDER = 1 << 0, 1 << 2, 1 << 3
_WRITE_FILE, _TRUNCATE = 1 << 1, 1 << 14
_EDIT_FOLDER = 1 << 4 | 1 << 5 | 1 << 7 | 1 << 8  # remove folders and files, make folders and files
_FILE_RIGHTS_KNOWN = {1: 13, 2: 14, 3: 15, 4: 15}  # bits by ABI; 16 from ABI 5 on
_NET_RIGHTS, _SCOPES = 3, 3  # TCP bind and connect (ABI 4); abstract sockets and signals (ABI 6)

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_libc.prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4


@dataclasses.dataclass
class Limits:
    cpu_seconds: int
    address_bytes: int  # of the whole child, what it shares with the zygote included


class _SockFprog(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p)]


class SeccompFilter:
    """A filter as classic BPF, kept where the kernel can read it."""

    def __init__(self, program: bytes):
        self._buffer = ctypes.create_string_buffer(program, len(program))
        self._fprog = _SockFprog(len(program) // 8, ctypes.addressof(self._buffer))

    def install(self) -> None:
        _prctl("seccomp", _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(self._fprog))


def enter(
    limits: Limits, seccomp: SeccompFilter, weak: bool, landlock_abi: int, programs: tuple[str, ...] = ()
) -> None:
    """Leaves the calling process with the descriptors it has, a private /tmp, and nothing else it could harm.

    `programs` are the only files that it may start, where the filter allows that at all. A weak jail lacks the
    namespaces, so there the working folder, made by the zygote, is the only one to write to."""
    _prctl("die with the zygote", _PR_SET_PDEATHSIG, _SIGKILL)
    os.setsid()
    if not weak:
        unshare(CLONE_NEWNS)
        options = f"mode=700,size={_TMP_BYTES},nr_inodes=1024".encode()
        flags = _MS_NOSUID | _MS_NODEV | _MS_NOEXEC
        _check("private /tmp", _libc.mount(b"tmpfs", b"/tmp", b"tmpfs", flags, options))
        os.chdir("/tmp")
    _set_limits(limits)
    if not programs:
        resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
    elif not weak:  # without namespaces the user's other processes count, too
        resource.setrlimit(resource.RLIMIT_NPROC, (_PROCESSES, _PROCESSES))
    _drop_capabilities()
    _prctl("not dumpable", _PR_SET_DUMPABLE, 0)
    _prctl("no new privileges", _PR_SET_NO_NEW_PRIVS, 1)
    if landlock_abi > 0:
        _restrict_files(landlock_abi, programs)
    seccomp.install()


def landlock_abi() -> int:
    """Version of Landlock in this kernel, 0 when there is none."""
    version = _libc.syscall(_SYS_LANDLOCK_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint(1))
    return max(version, 0)


def unshare(flags: int) -> None:
    _check("unshare", _libc.unshare(flags))


def return_to_namespace(pidfd: int) -> None:
    """Children forked from now on are born in the pid namespace of that process again."""
    _check("setns", _libc.setns(pidfd, CLONE_NEWPID))


def _set_limits(limits: Limits) -> None:
    for kind, value in (
        (resource.RLIMIT_AS, limits.address_bytes),
        (resource.RLIMIT_CPU, limits.cpu_seconds),
        (resource.RLIMIT_FSIZE, _FILE_BYTES),
        (resource.RLIMIT_NOFILE, 64),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (value, value))


def _drop_capabilities() -> None:
    _prctl("ambient capabilities", _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    header = struct.pack("=Ii", 0x20080522, 0)  # version 3, this process
    _check("capabilities", _libc.capset(header, bytes(24)))


def _restrict_files(abi: int, programs: tuple[str, ...]) -> None:
    """Landlock: read what the jail shows; start `programs`; write and make files and folders in the working folder
    only."""
    handled = (1 << _FILE_RIGHTS_KNOWN.get(abi, 16)) - 1
    attributes = struct.pack("=QQQ", handled, _NET_RIGHTS if abi >= 4 else 0, _SCOPES if abi >= 6 else 0)
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    ruleset = _libc.syscall(_SYS_LANDLOCK_CREATE, attributes, ctypes.c_size_t(size), ctypes.c_uint(0))
    _check("Landlock", ruleset)
    write = _WRITE_FILE | (_TRUNCATE & handled)
    _allow(ruleset, "/", _READ_FILE | _READ_FOLDER)
    _allow(ruleset, os.getcwd(), write | _EDIT_FOLDER)
    _allow(ruleset, "/dev/null", write)
    for program in programs:
        _allow(ruleset, program, _EXECUTE | _READ_FILE)
    _check("Landlock", _libc.syscall(_SYS_LANDLOCK_RESTRICT, ruleset, ctypes.c_uint(0)))
    os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    rule = struct.pack("=Qi", rights, fd)
    _check("Landlock", _libc.syscall(_SYS_LANDLOCK_ADD, ruleset, _LANDLOCK_RULE_PATH_BENEATH, rule, ctypes.c_uint(0)))
    os.close(fd)


def _prctl(what: str, option: int, *arguments: int) -> None:
    _check(what, _libc.prctl(option, *(arguments + (0,) * (4 - len(arguments)))))


def _check(what: str, result: int) -> None:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)} ({errno.errorcode.get(code, code)})")
