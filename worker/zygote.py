"""The zygote: imports what every child needs once, then forks one jailed child per request.

Started by src/record/zygote.cc as
    zygote.py [--weak] MODULE PACKAGE_FOLDER...
MODULE is `record` or `compile` (tests name others); it has `record(request: dict) -> dict`, and may have `warm_up()` and
`PROGRAMS`, the files that a child may start (the filter must allow that, too).
Descriptor 3 is the control socket, descriptor 4 the seccomp filter. docs/formats/worker.md describes the messages.

The zygote never reads a request or a reply: it hands the child its descriptors and says how the child ended.
"""

import argparse
import array
import contextlib
import dataclasses
import fcntl
import gc
import importlib
import logging
import math
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
import time
import traceback

# The interpreter is that of no environment; the folders with its packages are arguments. As in an environment,
# sys.prefix is where they are: what is read from there is the libraries' own.
_PACKAGES = [argument for argument in sys.argv[1:] if argument.startswith("/")]
sys.path.extend(_PACKAGES)
sys.prefix = os.path.commonpath(_PACKAGES)

import huge_pages  # noqa: E402
import msgpack  # noqa: E402
import protocol  # noqa: E402
import sandbox  # noqa: E402

CONTROL_FD, SECCOMP_FD = 3, 4
FDS_PER_REQUEST = 4  # request, reply, output, report


@dataclasses.dataclass
class Child:
    pid: int
    pidfd: int
    report: int  # pipe to C++
    setup: int  # pipe from the child: stays empty unless its sandbox could not be built
    deadline: float
    folder: str | None  # working folder to remove afterwards (weak jail only)
    killed_for: str = ""  # "timeout" or "cancelled"


class Zygote:
    def __init__(self, control: socket.socket, record, seccomp, weak: bool):
        self.control = control
        self.record = record
        self.programs = getattr(record, "PROGRAMS", ())
        self.seccomp = seccomp
        self.weak = weak
        self.landlock_abi = sandbox.landlock_abi()
        self.null = os.open("/dev/null", os.O_RDWR)
        self.own_pidfd = os.pidfd_open(os.getpid())
        self.epoll = select.epoll()
        self.epoll.register(control, select.EPOLLIN)
        self.children: dict[int, Child] = {}  # by pid
        self.watched: dict[int, Child] = {}  # by pidfd and by report pipe

    def serve(self) -> None:
        """Until C++ closes its end of the control socket; the kernel then ends every child with this namespace."""
        while True:
            for fd, _ in self.epoll.poll(self._seconds_to_next_deadline()):
                if fd == self.control.fileno():
                    if not self._accept():
                        return
                elif (child := self.watched.get(fd)) is None:
                    continue  # ended earlier in this round
                elif fd == child.pidfd:
                    self._finish(child)
                else:
                    self._kill(child, "cancelled")  # C++ closed its end: nobody waits any more
            now = time.monotonic()
            for child in self.children.values():
                if now >= child.deadline:
                    self._kill(child, "timeout")

    def check_sandbox(self) -> None:
        """Builds one child's sandbox, for the kernel to refuse now what it would refuse later (raises OSError)."""
        nothing = os.dup(self.null)
        limits = {"wall_seconds": 60, "cpu_seconds": 60, "address_bytes": 1 << 40}
        child = self._fork(limits, nothing, nothing, nothing, report=-1, probe=True)
        os.waitpid(child.pid, 0)
        refusal = os.read(child.setup, 4096).decode()
        for fd in (nothing, child.pidfd, child.setup):
            os.close(fd)
        self._remove_folder(child)
        if refusal:
            raise OSError(refusal)

    def _seconds_to_next_deadline(self) -> float | None:
        # A child that was killed is on its way out; its deadline is infinite, so that nobody spins on it.
        nearest = min((child.deadline for child in self.children.values()), default=math.inf)
        return None if nearest == math.inf else max(0.0, nearest - time.monotonic())

    def _accept(self) -> bool:
        """Takes one request from the control socket and starts its child. False at the end of the socket."""
        space = socket.CMSG_SPACE(FDS_PER_REQUEST * 4)
        data, ancillary, _, _ = self.control.recvmsg(4096, space, socket.MSG_CMSG_CLOEXEC)
        if not data:
            return False
        request, reply, output, report = array.array("i", ancillary[0][2])
        try:
            child = self._fork(msgpack.unpackb(data), request, reply, output, report)
            self.children[child.pid] = child
            for fd, events in ((child.pidfd, select.EPOLLIN), (report, 0)):  # 0: errors and hang-ups only
                self.watched[fd] = child
                self.epoll.register(fd, events)
        except OSError as error:
            protocol.write_all(report, protocol.encode_frame(_report(setup=f"cannot start a child: {error}")))
            os.close(report)
        for fd in (request, reply, output):
            os.close(fd)
        return True

    def _fork(self, limits: dict, request: int, reply: int, output: int, report: int, probe: bool = False) -> Child:
        setup, setup_end = os.pipe()
        folder = tempfile.mkdtemp(prefix="tritogen-") if self.weak else None
        try:
            if not self.weak:
                sandbox.unshare(sandbox.CLONE_NEWPID)  # for the next child, which becomes process 1 there
            pid = os.fork()
            if pid == 0:
                self._child(limits, folder, [self.null, output, output, request, reply, setup_end], probe)
        except OSError:
            os.close(setup)
            raise
        finally:
            if not self.weak:
                sandbox.return_to_namespace(self.own_pidfd)
            os.close(setup_end)
        deadline = time.monotonic() + limits["wall_seconds"]
        return Child(pid, os.pidfd_open(pid), report, setup, deadline, folder)

    def _child(self, limits: dict, folder: str | None, fds: list[int], probe: bool) -> None:
        """The child's whole life; never returns. `fds` become 0, 1, 2, …"""
        status = 1
        try:
            huge_pages.leave_shared_top()
            high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 64) for fd in fds]
            for target, fd in enumerate(high):
                os.dup2(fd, target)
            os.closerange(len(fds), 1 << 20)
            request, reply, setup = 3, 4, 5
            try:
                if folder:
                    os.chdir(folder)
                    os.environ["TMPDIR"] = os.environ["HOME"] = folder
                bounds = sandbox.Limits(limits["cpu_seconds"], limits["address_bytes"])
                sandbox.enter(bounds, self.seccomp, self.weak, self.landlock_abi, self.programs)
            except OSError as error:
                os.write(setup, str(error).encode())
                raise
            os.close(setup)
            if not probe:
                answer = self.record.record(protocol.read_frame(request))
                os.close(request)
                protocol.write_all(reply, protocol.encode_frame(answer))
            status = 0
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(status)

    def _kill(self, child: Child, reason: str) -> None:
        child.killed_for = child.killed_for or reason
        child.deadline = math.inf
        signal.pidfd_send_signal(child.pidfd, signal.SIGKILL)
        if self.watched.pop(child.report, None):
            self.epoll.unregister(child.report)

    def _finish(self, child: Child) -> None:
        """Reaps a child that ended, cleans up, and tells C++ how it ended; nobody may be there to hear it."""
        if self.weak and self.programs:  # no pid namespace ends what the child started
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
        _, status, usage = os.wait4(child.pid, 0)
        self._remove_folder(child)
        setup = os.read(child.setup, 4096).decode(errors="replace")
        report = _report(status, child.killed_for, setup, usage.ru_utime + usage.ru_stime)
        try:
            protocol.write_all(child.report, protocol.encode_frame(report))
        except BrokenPipeError:
            pass
        self.epoll.unregister(child.pidfd)
        if self.watched.pop(child.report, None):
            self.epoll.unregister(child.report)
        del self.children[child.pid], self.watched[child.pidfd]
        for fd in (child.pidfd, child.report, child.setup):
            os.close(fd)

    def _remove_folder(self, child: Child) -> None:
        if child.folder:
            shutil.rmtree(child.folder, ignore_errors=True)


def _report(status: int = 0, killed_for: str = "", setup: str = "", cpu_seconds: float = 0.0) -> dict:
    return {"status": status, "killed_for": killed_for, "setup": setup, "cpu_seconds": cpu_seconds}


def _warm(module: str):
    """Imports what every child needs. One thread only: fork copies no others."""
    gc.disable()  # nearly all that is imported stays
    import triton  # noqa: F401
    import triton.backends.nvidia.compiler  # noqa: F401

    if module != "compile":  # which has no tensors
        import torch

        torch.set_num_threads(1)
    record = importlib.import_module(module)
    if hasattr(record, "warm_up"):
        record.warm_up()
    # What lives now lives in every child: moving it out of the collector's sight keeps its pages shared.
    gc.collect()
    logging._at_fork_reinit_lock_weakset.clear()  # each child would make the locks of all loggers anew: nobody holds one
    huge_pages.fill_holes()
    huge_pages.collapse()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)  # a child is over before its garbage matters; its memory has a limit
    gc.enable()
    return record


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--weak", action="store_true")
    parser.add_argument("module")
    parser.add_argument("packages", nargs="*")
    arguments = parser.parse_args()
    control = socket.socket(fileno=CONTROL_FD)
    with open(SECCOMP_FD, "rb") as file:
        seccomp = sandbox.SeccompFilter(file.read())
    try:
        zygote = Zygote(control, _warm(arguments.module), seccomp, arguments.weak)
        zygote.check_sandbox()
    except (ImportError, OSError) as error:
        control.send(msgpack.packb({"error": str(error)}))
        return 1
    control.send(msgpack.packb({"warm": True}))
    zygote.serve()
    return 0


if __name__ == "__main__":
    sys.exit(main())
