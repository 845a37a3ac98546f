"""In a virtual environment: an installation that was made once is not made again.

`pip install --no-index …` from the cluster's wheels gives the same files for the same requirements in an environment with
the same packages. The first time pip does it, and the files are linked into the user's cache; after that they are linked
from there, without pip. Anything that is not understood is left to pip: other options, other sources, a cache that cannot
be written. Loaded at Python's start by a .pth file: until pip is imported it only waits for that.
"""
import sys


class _Finder(object):
    def find_spec(self, name, path=None, target=None):
        if name == "pip":
            sys.meta_path.remove(self)
            arguments = _pip_arguments()
            if arguments:
                _install(arguments)
        return None


def _pip_arguments():
    """What this process calls pip with; nothing where it is no pip."""
    words = getattr(sys, "orig_argv", [])
    if words[1:3] == ["-m", "pip"]:
        return words[3:]
    name = sys.argv[0].rsplit("/", 1)[-1] if getattr(sys, "argv", None) else ""
    return sys.argv[1:] if name.startswith("pip") else []


def _install(arguments):
    import os
    if os.environ.get("MINKE_PIP") == "plain":
        return
    try:
        place = _Place(os, arguments)
    except _NotOurs:
        return
    quiet = "-q" in arguments or "--quiet" in arguments
    before = place.packages()
    done = place.replay_any(before)
    if done is not None:
        if done and not quiet:
            print("Successfully installed " + " ".join(sorted(done)) + " (linked from " + place.directory + ")")
        sys.stdout.flush()
        os._exit(0)
    import subprocess
    code = subprocess.call([sys.executable, "-m", "pip"] + arguments, env=dict(os.environ, MINKE_PIP="plain"))
    if code == 0:
        try:
            place.keep(before)
        except (OSError, ValueError):
            pass  # the environment is as it should be; the next one is made by pip again
    sys.exit(code)


class _NotOurs(Exception):
    pass


class _Place(object):
    """Where the result of this installation is kept: by a hash of all that decides it."""
    ALONE = {"--no-index", "-q", "--quiet", "-U", "--upgrade", "--no-cache-dir", "--disable-pip-version-check"}
    MOST = 20  # installations kept of one user

    def __init__(self, os, arguments):
        import hashlib
        self.os = os
        if not arguments or arguments[0] != "install" or "--no-index" not in arguments:
            raise _NotOurs()
        config = os.environ.get("PIP_CONFIG_FILE", "")
        self.wheels = os.path.dirname(config)
        cache = os.environ.get("MINKE_WHEEL_CACHE", "")
        if not cache or not config.endswith("/wheels/pip.conf"):
            raise _NotOurs()
        parts = [sys.version, sys.implementation.cache_tag, os.path.realpath(sys.executable)]
        words = iter(arguments[1:])
        try:
            for word in words:
                if word in self.ALONE:
                    parts.append(word)
                elif word in ("-r", "--requirement"):
                    parts.append(self.requirements(next(words)))
                elif word.startswith("--requirement="):
                    parts.append(self.requirements(word.split("=", 1)[1]))
                else:
                    parts.append(self.requirement(word))
            parts += [name + "=" + value for name, value in sorted(os.environ.items()) if name.startswith("PIP_")]
            with open(config) as file:
                parts.append(file.read())
            parts += sorted(os.listdir(os.path.join(self.wheels, "index")))
        except (OSError, StopIteration, UnicodeError):
            raise _NotOurs()
        self.site = os.path.dirname(os.path.abspath(__file__))
        parts += self.packages()
        self.name = hashlib.sha256("\0".join(parts).encode()).hexdigest()
        self.places = self.caches_of_node(cache) + [os.path.join(cache, str(os.getuid()))]
        self.use(self.places[0])

    def use(self, directory):
        self.directory = directory
        self.entry = self.os.path.join(directory, self.name)

    def caches_of_node(self, cache):
        """Files of another file system cannot be linked: an environment below $SLURM_TMPDIR is made from the node's own disk
        then, where the user's data sets are kept, too."""
        os = self.os
        job = os.path.realpath(os.environ.get("SLURM_TMPDIR") or "/")
        kept = os.path.join(os.path.dirname(job), "stage-cache-" + str(os.getuid()))
        try:
            status = os.lstat(kept)
        except OSError:
            return []
        if os.path.isdir(cache) and os.stat(cache).st_dev == status.st_dev:
            return []
        own = status.st_uid == os.getuid() and status.st_mode & 0o170077 == 0o040000
        return [kept + "/environments"] if own and os.path.realpath(sys.prefix).startswith(job + "/") else []

    @staticmethod
    def requirement(text):
        """A name, perhaps with versions and extras; no path, no address, no option."""
        if text.startswith("-") or any(mark in text for mark in ("/", "@", "\\", "$", ".whl", ".zip", ".tar")):
            raise _NotOurs()
        return text

    def requirements(self, path):
        with open(path) as file:
            return "\n".join(self.requirement(line.split(" #")[0].strip()) for line in file
                             if line.strip() and not line.startswith("#"))

    def packages(self):
        return sorted(name for name in self.os.listdir(self.site) if name.endswith(".dist-info"))

    def files(self, package):
        """Of its RECORD, relative to the environment."""
        import csv
        os = self.os
        with open(os.path.join(self.site, package, "RECORD"), newline="") as file:
            names = [row[0] for row in csv.reader(file) if row]
        found = []
        for name in names:
            path = os.path.normpath(os.path.join(self.site, name))
            if os.path.isabs(name) or not path.startswith(sys.prefix + "/"):
                raise ValueError(name)
            found.append(path[len(sys.prefix) + 1:])
        return found

    def keep(self, before):
        import json
        import tempfile
        os = self.os
        after = self.packages()
        added = [name for name in after if name not in before]
        os.makedirs(self.directory, 0o700, exist_ok=True)
        status = os.lstat(self.directory)
        if status.st_uid != os.getuid() or status.st_mode & 0o077:
            raise OSError("the cache is somebody else's")
        fresh = tempfile.mkdtemp(dir=self.directory)
        own = sys.prefix.encode()
        files, texts = [], []
        for package in added:
            for name in self.files(package):
                path = os.path.join(sys.prefix, name)
                if not os.path.isfile(path):
                    continue
                status = os.stat(path)
                text = None
                if "/site-packages/" not in name:
                    with open(path, "rb") as file:
                        text = file.read()
                if text is not None and own in text:  # a script that names the environment's Python
                    texts.append([name, status.st_mode & 0o777, text.decode("utf-8").replace(sys.prefix, "\0")])
                    continue
                os.chmod(path, status.st_mode & 0o555)  # what is written into it would be in every environment
                self.link(path, os.path.join(fresh, str(len(files))))
                files.append([name, status.st_size, status.st_mtime_ns])
        with open(os.path.join(fresh, "manifest"), "w") as file:
            json.dump({"files": files, "texts": texts, "removed": [name for name in before if name not in after],
                       "added": added}, file)
        try:
            os.rename(fresh, self.entry)
        except OSError:  # somebody was faster
            import shutil
            shutil.rmtree(fresh, ignore_errors=True)
        self.prune()

    def prune(self):
        import shutil
        os = self.os
        entries = [os.path.join(self.directory, name) for name in os.listdir(self.directory)]
        for entry in sorted(entries, key=os.path.getmtime, reverse=True)[self.MOST:]:
            shutil.rmtree(entry, ignore_errors=True)

    def link(self, source, target):
        try:
            self.os.link(source, target)
        except OSError:
            import shutil
            if self.os.path.lexists(target):
                raise
            shutil.copy2(source, target)

    def replay_any(self, before):
        """From the nearest cache that has it. What came from a farther one is kept in the nearest, too."""
        for directory in self.places:
            self.use(directory)
            done = self.replay()
            if done is not None:
                break
        self.use(self.places[0])
        if done is not None and directory != self.places[0]:
            try:
                self.keep(before)
            except (OSError, ValueError):
                pass
            self.use(directory)
        return done

    def replay(self):
        """The packages that are there now; None: pip has to do it."""
        import json
        os = self.os
        try:
            with open(os.path.join(self.entry, "manifest")) as file:
                manifest = json.load(file)
            if os.lstat(self.directory).st_uid != os.getuid():
                return None
            entry = self.entry + "/"
            for number, (name, size, time) in enumerate(manifest["files"]):
                status = os.stat(entry + str(number))
                if status.st_size != size or status.st_mtime_ns != time:
                    raise ValueError(name)
        except (OSError, ValueError, KeyError):
            return None
        for package in manifest["removed"]:
            for name in self.files(package):
                try:
                    os.unlink(os.path.join(sys.prefix, name))
                except OSError:
                    pass
            try:
                os.rmdir(os.path.join(self.site, package))
            except OSError:
                pass
        made = set()
        prefix = sys.prefix + "/"

        def parent(name):
            directory = name.rpartition("/")[0]
            if directory not in made:
                os.makedirs(prefix + directory, exist_ok=True)
                made.add(directory)
        for number, (name, _, _) in enumerate(manifest["files"]):
            parent(name)
            try:
                os.link(entry + str(number), prefix + name)
            except OSError:
                if os.path.lexists(prefix + name):
                    os.unlink(prefix + name)
                self.link(entry + str(number), prefix + name)
        for name, mode, text in manifest["texts"]:
            parent(name)
            if os.path.lexists(prefix + name):
                os.unlink(prefix + name)
            with open(prefix + name, "w") as file:
                file.write(text.replace("\0", sys.prefix))
            os.chmod(prefix + name, mode)
        os.utime(self.entry)
        return [name[:-len(".dist-info")] for name in manifest["added"]]


if sys.prefix != getattr(sys, "base_prefix", sys.prefix):
    sys.meta_path.insert(0, _Finder())
