#!/usr/bin/env python3
"""A disk with a cache: what was written and not flushed is lost, in whole or in part, when the power goes.

VolatileDisk is a file system of its own on a loop device, whose image is a file that a process of ours serves by FUSE
(run as a program, this is that process). It keeps two images: the one that is read and written, and the one that has
what was flushed. At a cut it stops answering to writes and flushes, so that nobody is told of anything that is not
kept; the sectors in its cache get onto the disk or do not, as a seed has it. When all that used the disk is dead it
answers again, for the kernel to give up its mount, and what is mounted then is the second image.
"""
import ctypes
import errno
import os
import pathlib
import random
import struct
import subprocess
import sys
import threading
import time

SIZE = 512 << 20
SECTOR = 4096
MAKE = {"ext4": ["mkfs.ext4", "-q"], "xfs": ["mkfs.xfs", "-q"], "btrfs": ["mkfs.btrfs", "-q"]}


class Unavailable(Exception):
    """Why there can be no such disk here."""


class VolatileDisk:
    """Mounted at directory/"disk". Its owner unmounts it with close(), whatever happened."""

    def __init__(self, directory: pathlib.Path, kind: str):
        self.directory = directory
        self.place = directory / "disk"
        self.place.mkdir()
        self._served = directory / "served"
        self._served.touch()
        self._durable, self._current = directory / "durable.img", directory / "current.img"
        with open(self._durable, "wb") as file:
            file.truncate(SIZE)
        self._must(*MAKE[kind], self._durable)
        self._server: subprocess.Popen | None = None
        self._loop = ""
        self.mount()

    def mount(self) -> None:
        """As after a boot."""
        self._must("cp", "--sparse=always", self._durable, self._current)
        self._server = subprocess.Popen([sys.executable, __file__, self._served, self._current, self._durable],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self._server.stdout.readline() != "ready\n":
            raise Unavailable("a file served by FUSE cannot be mounted here")
        self._loop = self._must("losetup", "--find", "--show", self._served).strip()
        self._must("mount", self._loop, self.place)

    def cut(self, seed: int) -> None:
        """From now on nothing that is asked of the disk ends."""
        self._ask(f"cut {seed}")

    def unmount_after_cut(self) -> None:
        """When nothing that uses it lives any more but what waits for it in the kernel."""
        self._ask("answer")
        self.close()

    def close(self) -> None:
        deadline = time.monotonic() + 60
        while os.path.ismount(self.place) and self._do("umount", self.place).returncode:
            if time.monotonic() > deadline:
                self._do("umount", "--lazy", self.place)
            time.sleep(0.05)
        if self._loop:
            self._do("losetup", "--detach", self._loop)
            self._loop = ""
        if self._server:
            while os.stat(self._served).st_dev != os.stat(self.directory).st_dev:
                if self._do("umount", self._served).returncode and time.monotonic() > deadline:
                    self._do("umount", "--lazy", self._served)
                time.sleep(0.05)
            self._server.kill()
            self._server.wait()
            self._server = None

    def _ask(self, line: str) -> None:
        self._server.stdin.write(line + "\n")
        self._server.stdin.flush()
        if self._server.stdout.readline() != "done\n":
            raise RuntimeError(f"the disk's server does not {line}")

    @staticmethod
    def _do(*command) -> subprocess.CompletedProcess:
        return subprocess.run([str(word) for word in command], capture_output=True, text=True, stdin=subprocess.DEVNULL)

    def _must(self, *command) -> str:
        try:
            done = self._do(*command)
        except FileNotFoundError as error:
            raise Unavailable(str(error)) from error
        if done.returncode:
            raise Unavailable(f"{command[0]}: {done.stderr.strip()}")
        return done.stdout


# ---- the process that serves the image -----------------------------------------------------------------
# Of linux/fuse.h, version 7.31: one file, which is the root of its file system.
GETATTR, SETATTR, OPEN, READ, WRITE, STATFS, RELEASE, FSYNC, FLUSH, INIT, INTERRUPT, DESTROY = (
    3, 4, 14, 15, 16, 17, 18, 20, 25, 26, 36, 38)
FORGET, BATCH_FORGET = 2, 42
HEADER = struct.Struct("<IIQQIIIHH")
LARGEST = 1 << 20
ASYNC_READ, BIG_WRITES, MAX_PAGES = 1 << 0, 1 << 5, 1 << 22


class Server:
    def __init__(self, place: str, current: str, durable: str):
        self._device = os.open("/dev/fuse", os.O_RDWR)
        self._current, self._durable = os.open(current, os.O_RDWR), os.open(durable, os.O_RDWR)
        self._cache: list[tuple[int, bytes]] = []  # written, not flushed, in this order
        self._condition = threading.Condition()
        self._frozen = self._cut = False
        options = f"fd={self._device},rootmode=100600,user_id=0,group_id=0,allow_other".encode()
        if ctypes.CDLL(None, use_errno=True).mount(b"volatile", place.encode(), b"fuse", 0, options) != 0:
            sys.exit(os.strerror(ctypes.get_errno()))

    def serve(self) -> None:
        while True:
            try:
                message = os.read(self._device, LARGEST + 4096)
            except InterruptedError:
                continue
            except OSError as error:
                if error.errno in (errno.ENODEV, errno.EBADF):  # unmounted
                    return
                if error.errno == errno.ENOENT:  # who asked has been interrupted
                    continue
                raise
            _, opcode, unique, *_ = HEADER.unpack_from(message)
            if opcode in (FORGET, BATCH_FORGET, INTERRUPT):
                continue
            number, answer = self._answer(opcode, memoryview(message)[HEADER.size:])
            try:
                os.write(self._device, struct.pack("<IiQ", 16 + len(answer), -number, unique) + answer)
            except OSError as error:
                if error.errno != errno.ENOENT:
                    raise

    def _answer(self, opcode: int, body: memoryview) -> tuple[int, bytes]:
        if opcode == INIT:
            return 0, struct.pack("<IIIIHHIIHHI7I", 7, 31, LARGEST, ASYNC_READ | BIG_WRITES | MAX_PAGES, 64, 48, LARGEST, 1,
                                  LARGEST // 4096, 0, 0, *[0] * 7)
        if opcode in (GETATTR, SETATTR):
            return 0, struct.pack("<QII", 3600, 0, 0) + struct.pack(
                "<6Q10I", 1, SIZE, SIZE // 512, 0, 0, 0, 0, 0, 0, 0o100600, 1, 0, 0, 0, 4096, 0)
        if opcode == OPEN:
            return 0, struct.pack("<QII", 0, 0, 0)
        if opcode == STATFS:
            return 0, bytes(80)
        if opcode == READ:
            _, offset, size = struct.unpack_from("<QQI", body)
            return 0, os.pread(self._current, size, offset)
        if opcode == WRITE:
            _, offset, size = struct.unpack_from("<QQI", body)
            self._write(offset, bytes(body[40:40 + size]))
            return 0, struct.pack("<II", size, 0)
        if opcode == FSYNC:
            self._flush()
        return (0 if opcode in (FSYNC, FLUSH, RELEASE, DESTROY) else errno.ENOSYS), b""

    def _write(self, offset: int, data: bytes) -> None:
        with self._condition:
            self._condition.wait_for(lambda: not self._frozen)
            os.pwrite(self._current, data, offset)
            if not self._cut:
                self._cache.append((offset, data))

    def _flush(self) -> None:
        with self._condition:
            self._condition.wait_for(lambda: not self._frozen)
            for offset, data in self._cache:
                os.pwrite(self._durable, data, offset)
            self._cache.clear()

    def control(self) -> None:
        """What the owner asks for."""
        for line in sys.stdin:
            what, *seed = line.split()
            with self._condition:
                if what == "cut":
                    self._lose(random.Random(int(seed[0])))
                    self._frozen = self._cut = True
                else:
                    self._frozen = False
                    self._condition.notify_all()
            print("done", flush=True)

    def _lose(self, chance: random.Random) -> None:
        """Of the cache nothing, some or most of it got onto the disk, in no order."""
        share = chance.choice([0, 0.5, 0.9])
        for offset, data in self._cache:
            for at in range(0, len(data), SECTOR):
                if chance.random() < share:
                    os.pwrite(self._durable, data[at:at + SECTOR], offset + at)
        self._cache.clear()


def main() -> None:
    server = Server(*sys.argv[1:4])
    threading.Thread(target=server.control, daemon=True).start()
    print("ready", flush=True)
    server.serve()


if __name__ == "__main__":
    main()
