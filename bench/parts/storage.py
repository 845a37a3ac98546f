"""Trees of many small files: scanning, copying, packing and staging, beside what everybody uses, warm and cold."""
import contextlib
import json
import os
import pathlib
import random
import shutil
import subprocess
import time

NAME = "storage"
INODE_BYTES = 256  # in an ext4's tables
DROP_CACHES = pathlib.Path("/proc/sys/vm/drop_caches")


def small_files(root: pathlib.Path, count: int) -> None:
    """`count` files of 1 to 30 KiB, a hundred a directory, always the same ones."""
    numbers = random.Random(1)
    for number in range(count):
        directory = root / f"{number // 10_000:03d}" / f"{number // 100 % 100:03d}"
        if number % 100 == 0:
            directory.mkdir(parents=True, exist_ok=True)
        (directory / f"{number:07d}.jpg").write_bytes(numbers.randbytes(numbers.randint(1024, 30 * 1024)))


def cold_is_possible() -> bool:
    try:
        with open(DROP_CACHES, "w"):
            return True
    except OSError:
        return False


def seconds(command, cold: bool = False, environment: dict | None = None) -> float:
    if cold:
        os.sync()
        DROP_CACHES.write_text("3")
    words = [str(word) for word in command]
    nowhere = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
    begin = time.monotonic()  # subprocess takes half a millisecond itself, much beside a command of one
    process = os.posix_spawnp(words[0], words, environment or os.environ, file_actions=[nowhere])
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    end = time.monotonic()
    if status:
        raise subprocess.CalledProcessError(status, words)
    return end - begin


def temperatures(report) -> list[str]:
    if cold_is_possible():
        return ["warm", "cold"]
    report.skip("cold caches", "only root can empty them")
    return ["warm"]


def measure(context, report) -> None:
    minke = context.options.minke.resolve()
    with context.directory() as work:
        tree = work / "tree"
        small_files(tree / "small", context.options.small_files)
        for number in range(2):
            subprocess.run(["dd", "if=/dev/urandom", f"of={tree}/large{number}", "bs=1M", "status=none",
                            f"count={context.options.large_file_mib}"], check=True)
        for temperature in temperatures(report):
            cold = temperature == "cold"
            if not cold:
                seconds(["du", "-s", tree])
            for _ in range(context.options.repeats):
                report.sample(f"scan {temperature}: minke", seconds([minke, "storage", "scan", tree], cold))
                report.sample(f"scan {temperature}: du", seconds(["du", "-s", tree], cold))
            report.compare(f"scan a tree, {temperature}", f"scan {temperature}: minke", f"scan {temperature}: du",
                           "du -s", "s", 2.2 if cold else 1.9, smaller_is_better=True)
            copies(context, report, minke, tree / "small", work, cold)
            packs(context, report, minke, tree, work, cold)
            compressed(context, report, minke, tree, work, cold)
        samples(context, report, minke, tree / "small", work)
        staging(context, report, minke, tree / "small", work)
        taking_down(context, report, minke, tree / "small", work)
        with ext4(context, report, work) as disk:
            if disk is not None:
                subprocess.run(["cp", "-r", tree / "small", disk / "small"], check=True)
                os.sync()
                for temperature in temperatures(report):
                    tables(context, report, minke, disk, work, temperature == "cold")
                live_index(context, report, minke, disk, work)


@contextlib.contextmanager
def ext4(context, report, work):
    """An ext4 of its own, as a cluster's tier is one; None where nothing can be mounted."""
    image, place = work / "image", work / "disk"
    place.mkdir()
    with open(image, "wb") as file:
        file.truncate(2 * context.options.small_files * 20_000 + (1 << 30))
    made = os.geteuid() == 0 and subprocess.run(["mkfs.ext4", "-q", "-F", image], capture_output=True).returncode == 0
    if not made or subprocess.run(["mount", "-o", "loop", image, place], capture_output=True).returncode != 0:
        report.skip("an ext4's tables and the live index", "only root can mount an image")
        yield None
        return
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)
        image.unlink()


def tables(context, report, minke, disk, work, cold) -> None:
    """A whole ext4, from its inode tables: what it holds, and a list of its old files with their paths. Cold, also what
    the disk allows: reading as many bytes one after the other, and the start of a program."""
    name = "cold" if cold else "warm"
    listed = ["find", disk, "-xdev", "(", "-type", "f", "-o", "-type", "l", ")", "-printf", "%A@ %U %s %p\\n"]
    if not cold:  # the disk's blocks and the files' inodes are two caches
        seconds([minke, "storage", "scan", disk])
        seconds(["du", "-s", disk])
    for _ in range(context.options.repeats):
        report.sample(f"account {name}: minke", seconds([minke, "storage", "scan", disk], cold))
        report.sample(f"account {name}: du", seconds(["du", "-s", disk], cold))
        if cold:
            mebibytes = (context.options.small_files * INODE_BYTES >> 20) + 1
            report.sample(f"account {name}: disk", seconds(
                ["dd", f"if={work}/tree/large0", "of=/dev/null", "bs=1M", f"count={mebibytes}", "status=none"], cold))
            report.sample(f"account {name}: start", seconds([minke, "--version"], cold))
        (work / "list").unlink(missing_ok=True)
        report.sample(f"purge list {name}: minke", seconds(
            [minke, "storage", "purge", "--days", "0", "--record", work / "list", disk], cold))
        report.sample(f"purge list {name}: find", seconds(listed, cold))
    report.compare(f"account for an ext4, {name}", f"account {name}: minke", f"account {name}: du", "du -s", "s",
                   30 if cold else 20, smaller_is_better=True)
    if cold:
        report.compare(f"account for an ext4, {name}", f"account {name}: minke", f"account {name}: disk",
                       "reading as much", "s", smaller_is_better=True)
        report.compare(f"account for an ext4, {name}", f"account {name}: minke", f"account {name}: start",
                       "minke --version, cold", "s", smaller_is_better=True)
    report.compare(f"list for a purge, ext4, {name}", f"purge list {name}: minke", f"purge list {name}: find",
                   "find -printf", "s", 15 if cold else 6, smaller_is_better=True)


def live_index(context, report, minke, disk, work) -> None:
    """What somebody has, asked while a count is kept up to date."""
    home, user = work / "home", subprocess.run(["id", "-un"], capture_output=True, text=True).stdout.strip()
    home.mkdir()
    place = disk / "scratch" / user
    place.parent.mkdir()
    (disk / "small").rename(place)
    config = home / "minke.toml"
    config.write_text(f'[storage]\nprofile = "narval"\nroot = "{disk}"\n')
    environment = os.environ | {"MINKE_HOME": str(home), "MINKE_CONFIG": str(config), "HOME": str(home)}
    with subprocess.Popen([minke, "storage-watch", home, config], stdout=subprocess.PIPE, env=environment) as keeper:
        deadline = time.monotonic() + 60
        while len(list((home / "storage-live").glob("????????????????"))) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)  # home, which is empty, and scratch
        seconds([minke, "storage", "usage"], environment=environment)
        seconds(["du", "-s", place])
        for _ in range(context.options.repeats):
            report.sample("usage: minke", seconds([minke, "storage", "usage"], environment=environment))
            report.sample("usage: du", seconds(["du", "-s", place]))
        keeper.terminate()
    report.compare("what a user has, live index", "usage: minke", "usage: du", "du -s", "s", 300,
                   smaller_is_better=True)


def samples(context, report, minke, tree, work) -> None:
    """Ten thousand samples in random order: from an archive, and as loose files by one thread."""
    archive = work / "set.tar"
    subprocess.run([minke, "pack", "-q", "--format", "tar", tree, "--to", archive], check=True)
    paths = sorted(str(path) for path in tree.rglob("*.jpg"))
    random.Random(1).shuffle(paths)
    count = min(10_000, len(paths))
    for repeat in range(context.options.repeats):
        told = json.loads(subprocess.run([minke, "data", "measure", "--json", "--samples", str(count), "--seed",
                                          str(repeat), archive], check=True, capture_output=True, text=True).stdout)
        report.sample("samples: minke", told["seconds"])
        report.sample("samples: device", told["device_seconds"])
        if cold_is_possible():
            os.sync()
            DROP_CACHES.write_text("3")
            begin = time.monotonic()
            for path in paths[:count]:
                with open(path, "rb") as file:
                    file.read()
            report.sample("samples: files", time.monotonic() - begin)
    archive.unlink()
    report.compare(f"{count} random samples", "samples: minke", "samples: device", "reading as much anywhere", "s",
                   0.85, smaller_is_better=True)
    report.compare(f"{count} random samples", "samples: minke", "samples: files", "loose files, cold", "s", 5,
                   smaller_is_better=True)


def taking_down(context, report, minke, tree, work) -> None:
    """How long a job's end waits for the files in its own directory, beside removing them."""
    for _ in range(context.options.repeats):
        with context.minke() as cluster:
            script = work / "leaves.sh"
            script.write_text(f"#!/bin/sh\ncp -r '{tree}' $SLURM_TMPDIR/\ndate +%s.%N > '{work}/end'\n")
            script.chmod(0o755)
            cluster.command("sbatch", "--wait", script)
            report.sample("take down: minke", max(0.001, time.time() - float((work / "end").read_text())))
        subprocess.run(["cp", "-r", tree, work / "plain"], check=True)
        report.sample("take down: rm", seconds(["rm", "-rf", work / "plain"]))
    report.compare("take down a job's directory", "take down: minke", "take down: rm", "rm -rf", "s", 100,
                   smaller_is_better=True)


def copies(context, report, minke, tree, work, cold) -> None:
    """With metadata, and all of it on the disk in the end; and what the machine allows: so many bytes written one
    after the other, and `cp` on every processor at once."""
    name = "cold" if cold else "warm"
    mebibytes = sum(path.stat().st_blocks for path in tree.rglob("*")) >> 11
    peers = {"minke": f"'{minke}' cp '{tree}' copy", "cp": f"cp -a '{tree}' copy && sync -f copy",
             "rsync": f"rsync -a '{tree}/' copy && sync -f copy",
             "tar": f"mkdir copy && tar -C '{tree}' -cf - . | tar -C copy -xpf - && sync -f copy",
             "parallel": f"mkdir copy && ls '{tree}' | xargs -P {os.cpu_count()} -I@ cp -a '{tree}/@' copy/ && "
                         "sync -f copy"}
    for _ in range(context.options.repeats):
        for peer, command in peers.items():
            if peer != "rsync" or shutil.which("rsync"):
                report.sample(f"copy {name}: {peer}", seconds(["sh", "-c", f"cd '{work}' && {command}"], cold))
                shutil.rmtree(work / "copy")
                os.sync()
        report.sample(f"copy {name}: disk", seconds(["dd", "if=/dev/zero", f"of={work}/copy", "bs=1M", "status=none",
                                                     f"count={mebibytes}", "conv=fsync"]))
        (work / "copy").unlink()
    report.compare(f"copy a tree, {name}", f"copy {name}: minke", f"copy {name}: disk", "writing as much", "s",
                   smaller_is_better=True)
    report.compare(f"copy a tree, {name}", f"copy {name}: minke", f"copy {name}: parallel",
                   "cp -a on every processor, sync", "s", smaller_is_better=True)
    for peer, words in {"cp": "cp -a", "rsync": "rsync -a", "tar": "tar | tar"}.items():
        report.compare(f"copy a tree, {name}", f"copy {name}: minke", f"copy {name}: {peer}", words + ", sync", "s",
                       5 if cold else 2, smaller_is_better=True)


def packs(context, report, minke, tree, work, cold) -> None:
    """Into one archive on the disk, Minke's with an index and read back; and what the disk allows."""
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
        disk_alone(report, f"pack {name}", archive, mebibytes, cold)
    report.compare(f"pack a tree, {name}", f"pack {name}: minke", f"pack {name}: tar", "tar, sync", "s",
                   3.5 if cold else None, smaller_is_better=True)
    report.compare(f"pack a tree, {name}", f"pack {name}: minke", f"pack {name}: disk", "writing as much", "s",
                   0.7, smaller_is_better=True)
    report.compare(f"pack a tree, {name}", f"pack {name}: minke", f"pack {name}: disk, back",
                   "writing and reading back as much", "s", smaller_is_better=True)


def disk_alone(report, name, file, mebibytes, cold) -> None:
    """What the disk allows: so many bytes written one after the other, and read back."""
    report.sample(f"{name}: disk", seconds(
        ["dd", "if=/dev/zero", f"of={file}", "bs=1M", f"count={mebibytes}", "conv=fsync", "status=none"], cold))
    report.sample(f"{name}: disk, back", report.samples[f"{name}: disk"][-1] + seconds(
        ["dd", f"if={file}", "of=/dev/null", "bs=4M", "iflag=direct", "status=none"]))
    file.unlink()


def compressed(context, report, minke, tree, work, cold) -> None:
    """Into one compressed archive that can be read anywhere, beside tar with zstd."""
    name = "cold" if cold else "warm"
    archive = work / "set.tar.zst"
    for _ in range(context.options.repeats):
        report.sample(f"compress {name}: minke", seconds([minke, "pack", "-q", "--format", "tar.zst", tree, "--to",
                                                           archive], cold))
        report.sample(f"compress {name}: minke, MiB", archive.stat().st_size / (1 << 20))
        archive.unlink()
        report.sample(f"compress {name}: tar", seconds(
            ["sh", "-c", f"tar -C '{tree}' -cf - . | zstd -q -T0 -1 -o '{archive}' && sync '{archive}'"], cold))
        mebibytes = archive.stat().st_size / (1 << 20)
        report.sample(f"compress {name}: tar, MiB", mebibytes)
        archive.unlink()
        disk_alone(report, f"compress {name}", archive, int(mebibytes) + 1, cold)
    report.compare(f"pack a tree compressed, {name}", f"compress {name}: minke", f"compress {name}: tar",
                   "tar, zstd -T0 -1, sync", "s", 2.5, smaller_is_better=True)
    report.compare(f"pack a tree compressed, {name}", f"compress {name}: minke", f"compress {name}: disk, back",
                   "writing and reading back as much", "s", smaller_is_better=True)
    report.compare(f"its size, {name}", f"compress {name}: minke, MiB", f"compress {name}: tar, MiB",
                   "tar, zstd -T0 -1", "MiB", 0.98, smaller_is_better=True)


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
