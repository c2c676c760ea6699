"""Frames, as in docs/formats/worker.md: 4-byte little-endian length, then one MessagePack map."""

import os
import struct

import msgpack

MAX_FRAME_BYTES = 64 << 20


def encode_frame(message: dict) -> bytes:
    body = msgpack.packb(message, use_bin_type=True)
    if len(body) > MAX_FRAME_BYTES:
        raise ValueError(f"the message has {len(body)} bytes, a frame holds {MAX_FRAME_BYTES}")
    return struct.pack("<I", len(body)) + body


def write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def read_frame(fd: int) -> dict:
    """Reads the one frame that a file or pipe holds. Raises EOFError when it is cut off."""
    (size,) = struct.unpack("<I", _read_exactly(fd, 4))
    return msgpack.unpackb(_read_exactly(fd, size), raw=False)


def _read_exactly(fd: int, size: int) -> bytes:
    parts = []
    while size > 0:
        part = os.read(fd, min(size, 1 << 20))
        if not part:
            raise EOFError("the frame is cut off")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
