// The applications that come with this program: what their forms ask, and what their jobs run. Each says
// plainly where its program is not there.
#include "portal/app_kinds.h"

namespace minke::portal {
namespace {

constexpr char kJupyter[] = R"toml(
title = "JupyterLab"
description = "Notebooks, with your own packages."
description_fr = "Des carnets, avec vos propres paquets."
start = "lab"

[[field]]
name = "directory"
label = "Directory"
label_fr = "Répertoire"
help = "Where it begins; empty: your home."
help_fr = "Là où il commence; vide : votre répertoire personnel."

[[field]]
name = "environment"
label = "Virtual environment"
label_fr = "Environnement virtuel"
help = "A directory with bin/activate. Else jupyter of your modules, or of PATH."
help_fr = "Un répertoire avec bin/activate. Sinon jupyter de vos modules, ou de PATH."
)toml";

constexpr char kEnterEnvironment[] = R"sh(
if [ -n "$APP_ENVIRONMENT" ]; then
  if [ ! -r "$APP_ENVIRONMENT/bin/activate" ]; then
    echo "$APP_ENVIRONMENT is no virtual environment: it has no bin/activate." >&2
    exit 1
  fi
  . "$APP_ENVIRONMENT/bin/activate"
fi
)sh";

const std::string kJupyterScript = std::string(kEnterEnvironment) + R"sh(
if ! command -v jupyter-lab > /dev/null; then
  echo "JupyterLab is not here: there is no jupyter-lab in PATH. Name a module that has it, or a virtual environment (pip install jupyterlab)." >&2
  exit 127
fi
cd "${APP_DIRECTORY:-$HOME}" || exit 1
unset JUPYTER_TOKEN
if [ "$(id -u)" = 0 ]; then set -- --allow-root; fi
# Nobody but you reaches the socket: it needs no token.
exec jupyter-lab "$@" --no-browser --ServerApp.sock="$APP_SOCKET" --ServerApp.sock_mode=0600 \
  --ServerApp.base_url="$APP_ADDRESS/" --ServerApp.allow_remote_access=True --ServerApp.token= --ServerApp.password= \
  --ServerApp.quit_button=False
)sh";

constexpr char kCodeServer[] = R"toml(
title = "VS Code"
description = "code-server: the editor, on a node of your job."
description_fr = "code-server : l’éditeur, sur un nœud de votre tâche."
address = "stripped"

[[field]]
name = "directory"
label = "Directory"
label_fr = "Répertoire"
help = "What it opens; empty: your home."
help_fr = "Ce qu’il ouvre; vide : votre répertoire personnel."
)toml";

constexpr char kCodeServerScript[] = R"sh(
if ! command -v code-server > /dev/null; then
  echo "code-server is not here: there is none in PATH. Name a module that has it, or install it (npm install --global code-server)." >&2
  exit 127
fi
# Nobody but you reaches the socket: it needs no password.
exec code-server --auth none --socket "$APP_SOCKET" --socket-mode 600 --disable-telemetry --disable-update-check \
  "${APP_DIRECTORY:-$HOME}"
)sh";

constexpr char kTensorBoard[] = R"toml(
title = "TensorBoard"
description = "Curves of training runs."
description_fr = "Les courbes des entraînements."

[[field]]
name = "directory"
label = "Log directory"
label_fr = "Répertoire des journaux"
required = true

[[field]]
name = "environment"
label = "Virtual environment"
label_fr = "Environnement virtuel"
help = "A directory with bin/activate. Else tensorboard of your modules, or of PATH."
help_fr = "Un répertoire avec bin/activate. Sinon tensorboard de vos modules, ou de PATH."
)toml";

// TensorBoard itself listens at ports only, and asks nobody who he is: so its pages are served at a socket.
const std::string kTensorBoardScript = std::string(kEnterEnvironment) + R"sh(
python=$(command -v python3) || python=python
if command -v tensorboard > /dev/null; then
  # The Python that the command is made for.
  IFS= read -r first < "$(command -v tensorboard)"
  case "$first" in '#!/'*python*) set -- ${first#??}; [ -x "$1" ] && python=$1 ;; esac
fi
if ! "$python" -c 'import tensorboard' 2> /dev/null; then
  echo "TensorBoard is not here: $python has no package tensorboard. Name a module that has it, or a virtual environment (pip install tensorboard)." >&2
  exit 127
fi
if [ ! -d "$APP_DIRECTORY" ]; then
  echo "There is no directory $APP_DIRECTORY." >&2
  exit 1
fi
exec "$python" - <<'PYTHON'
import os
import sys

from tensorboard import default, main_lib, program
from werkzeug import serving


class AtSocket(program.TensorBoardServer):
    def __init__(self, pages, flags):
        self.server = serving.make_server("unix://" + os.environ["APP_SOCKET"], 0, pages, threaded=True)

    def serve_forever(self):
        self.server.serve_forever()

    def get_url(self):
        return "http://localhost:1" + os.environ["APP_ADDRESS"] + "/"  # TensorBoard wants a port in it

    def print_serving_message(self):
        print("TensorBoard is ready.", flush=True)


main_lib.global_init()
board = program.TensorBoard(plugins=default.get_plugins(), server_class=AtSocket)
board.configure([sys.argv[0], "--logdir", os.environ["APP_DIRECTORY"], "--path_prefix", os.environ["APP_ADDRESS"]])
sys.exit(board.main())
PYTHON
)sh";

constexpr char kTerminal[] = R"toml(
title = "Terminal"
description = "A shell on a node of your job. Nothing has to be installed."
description_fr = "Un interpréteur de commandes sur un nœud de votre tâche. Rien à installer."
address = "stripped"

[[field]]
name = "directory"
label = "Directory"
label_fr = "Répertoire"
help = "Where it begins; empty: your home."
help_fr = "Là où il commence; vide : votre répertoire personnel."
)toml";

constexpr char kTerminalScript[] = R"sh(
cd "${APP_DIRECTORY:-$HOME}" || exit 1
exec "$APP_MINKE" app-terminal
)sh";

}  // namespace

const std::vector<BuiltinApp>& builtin_apps() {
  static const std::vector<BuiltinApp> all = {{"code-server", kCodeServer, kCodeServerScript},
                                              {"jupyter", kJupyter, kJupyterScript.c_str()},
                                              {"tensorboard", kTensorBoard, kTensorBoardScript.c_str()},
                                              {"terminal", kTerminal, kTerminalScript}};
  return all;
}

}  // namespace minke::portal
