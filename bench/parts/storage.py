"""Trees of many small files: scanning, copying, packing and staging, beside what everybody uses, warm and cold."""
import pathlib
import random
import shutil
import subprocess
import time
import os

NAME = "storage"
DROP_CACHES = pathlib.Path("/proc/sys/vm/drop_caches")


def small_files(root: pathlib.Path, count: int) -> None:
    """`count` files of 1 to 30 KiB, a hundred a directory, always the same ones."""
    numbers = random.Random(1)
    content = numbers.randbytes(1 << 20)
    for number in range(count):
        directory = root / f"{number // 10_000:03d}" / f"{number // 100 % 100:03d}"
        if number % 100 == 0:
            directory.mkdir(parents=True, exist_ok=True)
        size = numbers.randint(1024, 30 * 1024)
        begin = numbers.randint(0, len(content) - size)
        (directory / f"{number:07d}.jpg").write_bytes(content[begin:begin + size])


def cold_is_possible() -> bool:
    try:
        with open(DROP_CACHES, "w"):
            return True
    except OSError:
        return False


def seconds(command, cold: bool = False) -> float:
    if cold:
        os.sync()
        DROP_CACHES.write_text("3")
    begin = time.monotonic()
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begin


def temperatures(report) -> list[str]:
    if cold_is_possible():
        return ["warm", "cold"]
    report.skip("cold caches", "only root can empty them")
    return ["warm"]


def measure(context, report) -> None:
    minke = context.options.minke.resolve()
    with context.directory() as work:
        tree = work / "tree"
        small_files(tree, context.options.small_files)
        for temperature in temperatures(report):
            cold = temperature == "cold"
            if not cold:
                seconds(["du", "-s", tree])
            for _ in range(context.options.repeats):
                report.sample(f"scan {temperature}: minke", seconds([minke, "storage", "scan", tree], cold))
                report.sample(f"scan {temperature}: du", seconds(["du", "-s", tree], cold))
            report.compare(f"scan a tree, {temperature}", f"scan {temperature}: minke", f"scan {temperature}: du", "du -s",
                           "s", 2.2 if cold else 1.9, smaller_is_better=True)
            copies(context, report, minke, tree, work, cold)
            packs(context, report, minke, tree, work, cold)
        staging(context, report, minke, tree, work)


def copies(context, report, minke, tree, work, cold) -> None:
    """With metadata, and all of it on the disk in the end."""
    name = "cold" if cold else "warm"
    peers = {"minke": f"'{minke}' cp '{tree}' copy", "cp": f"cp -a '{tree}' copy && sync -f copy",
             "rsync": f"rsync -a '{tree}/' copy && sync -f copy",
             "tar": f"mkdir copy && tar -C '{tree}' -cf - . | tar -C copy -xpf - && sync -f copy"}
    for _ in range(context.options.repeats):
        for peer, command in peers.items():
            if peer != "rsync" or shutil.which("rsync"):
                report.sample(f"copy {name}: {peer}", seconds(["sh", "-c", f"cd '{work}' && {command}"], cold))
                shutil.rmtree(work / "copy")
                os.sync()
    for peer, words in {"cp": "cp -a", "rsync": "rsync -a", "tar": "tar | tar"}.items():
        report.compare(f"copy a tree, {name}", f"copy {name}: minke", f"copy {name}: {peer}", words + ", sync", "s",
                       5 if cold else 2, smaller_is_better=True)


def packs(context, report, minke, tree, work, cold) -> None:
    """Into one archive on the disk, Minke's with an index and read back; and what the disk allows: so many bytes
    written one after the other."""
    name = "cold" if cold else "warm"
    archive = work / "set.tar"
    for _ in range(context.options.repeats):
        own = [minke, "pack", "-q", "--format", "tar", tree, "--to", archive]
        report.sample(f"pack {name}: minke", seconds(own, cold))
        mebibytes = (archive.stat().st_size >> 20) + 1
        archive.unlink()
        plain = ["sh", "-c", f"tar -C '{tree}' -cf '{archive}' . && sync '{archive}'"]
        report.sample(f"pack {name}: tar", seconds(plain, cold))
        archive.unlink()
        report.sample(f"pack {name}: disk", seconds(
            ["dd", "if=/dev/zero", f"of={archive}", "bs=1M", f"count={mebibytes}", "conv=fsync", "status=none"], cold))
        archive.unlink()
    report.compare(f"pack a tree, {name}", f"pack {name}: minke", f"pack {name}: tar", "tar, sync", "s",
                   3.5 if cold else None, smaller_is_better=True)
    report.compare(f"pack a tree, {name}", f"pack {name}: minke", f"pack {name}: disk", "writing as much", "s",
                   0.7, smaller_is_better=True)


def staging(context, report, minke, tree, work) -> None:
    """What the second job that stages a data set waits for."""
    archive = work / "set.tar"
    subprocess.run(["tar", "-C", tree, "-cf", archive, "."], check=True)
    for number in range(context.options.repeats + 1):
        directory = work / f"job{number}"
        directory.mkdir()
        command = ["env", f"SLURM_TMPDIR={directory}", minke, "stage", "-q", archive]
        report.sample("stage: first" if number == 0 else "stage: second", seconds(command))
    for _ in range(context.options.repeats):
        (work / "plain").mkdir()
        report.sample("stage: tar", seconds(["tar", "-C", work / "plain", "-xf", archive]))
        shutil.rmtree(work / "plain")
    report.compare("stage a data set, first job", "stage: first", "stage: tar", "tar -x", "s", smaller_is_better=True)
    report.compare("stage a data set, second job", "stage: second", "stage: tar", "tar -x", "s", 100,
                   smaller_is_better=True)
