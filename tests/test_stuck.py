"""A daemon or a launcher that is there and does not answer, or cannot be started: nobody waits without a word."""
MINKE_ONLY = True


def test_a_limit_on_the_size_of_files_is_an_error(cluster):
    """The kernel would kill a daemon that does not expect it."""
    done = cluster.run("bash", "-c", "ulimit -S -f 20; minke up")
    assert done.returncode == 1 and "File too large" in done.stderr, done
    cluster.run("minke", "up", check=0)
