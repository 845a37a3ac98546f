#!/bin/bash
# A notebook server in a job: sbatch notebook.sh, then follow what its output says.
#SBATCH --account=def-someprof
#SBATCH --cpus-per-task=2
#SBATCH --mem=1G
#SBATCH --time=01:00:00
#SBATCH --output=%x-%j.out
set -euo pipefail
if [ -z "${PYTHON:-}" ] && type module >/dev/null 2>&1; then
  module load python
  virtualenv --no-download "$SLURM_TMPDIR/env"
  source "$SLURM_TMPDIR/env/bin/activate"
  pip install --no-index notebook
fi
python=${PYTHON:-python}
port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
# Who knows the token is let in; it stands in this job's output alone, and in no list of processes.
umask 077
JUPYTER_TOKEN=$("$python" -c 'import secrets; print(secrets.token_hex(24))')
export JUPYTER_TOKEN JUPYTER_RUNTIME_DIR=$SLURM_TMPDIR/jupyter
node=$(hostname)
# A node that is no machine of its own is reached as the machine that it is on.
if getent hosts "$node" | grep -q '^127[.]0[.]0[.]1 '; then node=${SLURM_SUBMIT_HOST:-$node}; fi
way=$USER@$node
if [ "${SLURM_SUBMIT_HOST:-$node}" != "$node" ]; then way="-J $USER@$SLURM_SUBMIT_HOST $way"; fi
cat <<TEXT
On your own machine:  ssh -N -L $port:localhost:$port $way
and in your browser:  http://localhost:$port/?token=$JUPYTER_TOKEN
When you have done:   scancel $SLURM_JOB_ID
TEXT
exec "$python" -m jupyter_server --no-browser --ip=127.0.0.1 --port="$port" --ServerApp.port_retries=0 \
  $([ "$(id -u)" != 0 ] || echo --allow-root)
