#!/usr/bin/env python3
"""One case of a farm: a prompt for the model that this case's GPU has loaded.

    minke farm run prompts.txt --gpus=1 --jobs=2 -- python3 ask.py model {}

To load a model takes longer than to answer a prompt. So the first case on a GPU starts serve.py, which loads it once and
stays; all others find it by its socket in the job's own directory. It ends with the job.
"""
import fcntl
import os
import pathlib
import socket
import sys
import time


def place() -> pathlib.Path:
    """A directory of this job's own, on this node."""
    if own := os.environ.get("SLURM_TMPDIR"):
        return pathlib.Path(own)
    path = pathlib.Path(f"/tmp/models-{os.getuid()}-{os.environ.get('SLURM_JOB_ID', 'none')}")
    path.mkdir(mode=0o700, exist_ok=True)
    if path.is_symlink() or path.stat().st_uid != os.getuid():
        sys.exit(f"{path} is somebody else's")
    return path


def connect(name: str) -> socket.socket | None:
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(name)
        return connection
    except OSError:
        connection.close()
        return None


def start(model: pathlib.Path, name: str) -> socket.socket:
    """The server, in a session of its own: it stays when this case ends."""
    import subprocess
    with open(f"{name}.log", "ab") as log:
        server = subprocess.Popen([sys.executable, pathlib.Path(__file__).resolve().parent / "serve.py", model, name], stdin=subprocess.DEVNULL,
                                  stdout=log, stderr=log, start_new_session=True)
    while not (connection := connect(name)):
        if server.poll() is not None:
            sys.exit("the model cannot be loaded:\n" + pathlib.Path(f"{name}.log").read_text())
        time.sleep(0.05)
    return connection


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit("usage: ask.py MODEL PROMPT")
    model = pathlib.Path(sys.argv[1]).resolve()
    os.environ.setdefault("LOADS", str(pathlib.Path("loads.log").resolve()))  # serve.py adds a line for each loading
    os.chdir(place())  # a socket's path is short, and a directory's may be long
    name = f"model-{os.environ.get('CUDA_VISIBLE_DEVICES') or 'cpu'}"
    connection = connect(name)
    if not connection:
        with open(f"{name}.lock", "w") as lock:  # of the cases that come at once, one starts it
            fcntl.flock(lock, fcntl.LOCK_EX)
            connection = connect(name) or start(model, name)
    with connection:
        connection.sendall(sys.argv[2].encode(errors="surrogateescape"))
        connection.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    if not answer:
        sys.exit("the model's server has died")
    sys.stdout.buffer.write(answer)


if __name__ == "__main__":
    main()
