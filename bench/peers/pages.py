"""Open pages of a portal, as browsers keep them: each listens, and asks for the queue anew when it hears of a change, but
not more often than every three seconds.

    python3 pages.py PORT TOKEN COUNT     says "open" when all listen, and ends with its input
"""
import http.client
import random
import selectors
import socket
import sys
import time

BETWEEN = 3.0  # s, as web/src/api.svelte.ts has it


def main(port: int, token: str, count: int) -> None:
    request = f"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\nX-SLURM-USER-TOKEN: {token}\r\n\r\n".encode()
    selector, due = selectors.DefaultSelector(), {}
    for _ in range(count):
        page = socket.create_connection(("127.0.0.1", port))
        page.sendall(request)
        if b" 200 " not in page.recv(4096):
            raise RuntimeError("a page is not let in")
        selector.register(page, selectors.EVENT_READ)
        due[page] = (0.0, 0.0)  # asked last, asks next
    selector.register(sys.stdin, selectors.EVENT_READ)
    print("open", flush=True)
    asking = http.client.HTTPConnection("localhost", port)
    while True:
        for key, _ in selector.select(0.1):
            if key.fileobj is sys.stdin:
                return
            said = key.fileobj.recv(1 << 16)
            if not said:
                raise RuntimeError("a page has lost its stream")
            last, next_time = due[key.fileobj]
            if b"event: jobs" in said and next_time <= last:
                due[key.fileobj] = (last, max(time.monotonic(), last + BETWEEN) + 0.5 * random.random())
        for page, (last, next_time) in due.items():
            if last < next_time <= time.monotonic():
                asking.request("GET", "/api/v1/jobs?limit=50", headers={"X-SLURM-USER-TOKEN": token})
                asking.getresponse().read()
                due[page] = (time.monotonic(), 0.0)


main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
