"""virtualenv, and with it what makes the second environment of a kind cheap.

Run by the module's Python: the first arguments are the directory that has virtualenv, and the wheels; then virtualenv's own.
"""
import os
import shutil
import sys


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    tools, wheels = sys.argv[1:3]
    sys.argv = ["virtualenv"] + sys.argv[3:]
    # In the environment, so that what the user says on the command line counts.
    os.environ.setdefault("VIRTUALENV_EXTRA_SEARCH_DIR", wheels)
    os.environ.setdefault("VIRTUALENV_NO_PERIODIC_UPDATE", "1")
    sys.path[0] = tools
    import virtualenv.__main__ as program
    import virtualenv.run as running
    sessions = []
    plain = running.cli_run

    def cli_run(*arguments, **options):
        sessions.append(plain(*arguments, **options))
        return sessions[-1]
    running.cli_run = cli_run
    if hasattr(program, "cli_run"):  # older ones have it in both places
        program.cli_run = cli_run
    code = 0
    try:
        program.run(sys.argv[1:])
    except SystemExit as end:
        code = end.code
    for session in sessions:
        site = str(session.creator.purelib)
        try:
            shutil.copy(os.path.join(here, "_minke_pip.py"), site)
            with open(os.path.join(site, "_minke_pip.pth"), "w") as file:
                file.write("import _minke_pip\n")
        except OSError:
            pass  # a plain environment is one, too
    sys.exit(code)


main()
