"""JupyterLab and TensorBoard, as PyPI has them, opened through the portal."""
import json
import struct
import sys
import urllib.parse

import pytest

from client_environments import installed
from cluster import ROOT

sys.path.insert(0, str(ROOT / "tests"))
from portal_client import Portal  # noqa: E402
from test_portal_apps import Visitor, begin  # noqa: E402
from web_socket import TEXT  # noqa: E402

pytestmark = [pytest.mark.minke_only, pytest.mark.xdist_group("clients"), pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def environment(request):
    if not request.config.getoption("--clients"):
        pytest.skip("with --clients")
    return installed("interactive").parent


@pytest.fixture
def browser(cluster):
    cluster.environment |= {"XDG_DATA_HOME": str(cluster.work / "data"), "HOME": str(cluster.work)}
    portal = Portal(cluster)
    yield portal.log_in()
    portal.close()


def test_jupyterlab_runs_code(cluster, environment, browser):
    session = begin(browser, app="jupyter", memory="1G", time="10", fields={"directory": str(cluster.work), "environment": str(environment)})
    visitor = Visitor(browser.portal, browser, session["key"], session["start"])
    origin = {"Origin": f"http://{visitor.host}"}
    status, headers, page = visitor.ask("/lab")
    assert status == 200 and b"JupyterLab" in page, page[:500]
    xsrf = headers["Set-Cookie"].partition(";")[0]
    assert all(f"Path=/apps/{session['key']}/" in one for one in headers.get_all("Set-Cookie"))
    own = origin | {"Cookie": f"{visitor.cookie}; {xsrf}", "X-XSRFToken": xsrf.partition("=")[2], "Content-Type": "application/json"}
    status, _, said = visitor.ask("/api/kernels", "POST", b"{}", own)
    assert status == 201, said
    kernel = json.loads(said)["id"]
    channels = visitor.web_socket(f"/api/kernels/{kernel}/channels", Cookie=own["Cookie"])
    assert channels.status == 101
    channels.send(json.dumps({"header": {"msg_id": "1", "msg_type": "execute_request", "username": "", "session": "s", "version": "5.3", "date": ""},
                              "parent_header": {}, "metadata": {}, "channel": "shell", "content": {"code": "print(6 * 7)", "silent": False}, "buffers": []}).encode(), TEXT)
    said = ""
    while '"text": "42' not in said and '"text":"42' not in said:
        said = channels.receive()[1].decode(errors="replace")
    channels.close()
    # A file as large as people upload, in one request.
    content = json.dumps({"type": "file", "format": "text", "content": "x" * 3_000_000}).encode()
    assert visitor.ask("/api/contents/large.txt", "PUT", content, own)[0] == 201
    assert (cluster.work / "large.txt").stat().st_size == 3_000_000


def test_tensorboard_shows_curves(cluster, environment, browser):
    logs = cluster.work / "logs"
    logs.mkdir()
    program = ("import sys; from tensorboard.summary.writer.event_file_writer import EventFileWriter; "
               "from tensorboard.compat.proto import event_pb2, summary_pb2; w = EventFileWriter(sys.argv[1]); "
               "w.add_event(event_pb2.Event(step=3, wall_time=1, summary=summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag='loss', simple_value=0.5)]))); w.close()")
    cluster.run(environment / "bin/python", "-c", program, logs, check=0)
    session = begin(browser, app="tensorboard", memory="1G", time="10", fields={"directory": str(logs), "environment": str(environment)})
    visitor = Visitor(browser.portal, browser, session["key"], session["start"])
    status, _, page = visitor.ask("/")
    assert status == 200 and b"TensorBoard" in page
    tags = json.loads(visitor.ask("/data/plugin/scalars/tags")[2])
    assert "loss" in tags["."]
    values = json.loads(visitor.ask("/data/plugin/scalars/scalars?" + urllib.parse.urlencode({"tag": "loss", "run": "."}))[2])
    assert values[0][1:] == [3, struct.unpack("f", struct.pack("f", 0.5))[0]]
