#!/bin/bash
#SBATCH --partition short
#SBATCH --nodes 1
#SBATCH --ntasks-per-node 1
#SBATCH --mem-per-cpu 1G
#SBATCH --time 1-0:00:00
#SBATCH --job-name jupyter-notebook
#SBATCH --output jupyter-notebook-%J.log
XDG_RUNTIME_DIR=""
port=$(shuf -i8000-9999 -n1)
jupyter-notebook --no-browser --port=${port} --ip=$(hostname -s)
