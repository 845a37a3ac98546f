#!/bin/bash
#SBATCH -J matlab
#SBATCH -L matlab@server:1
#SBATCH -n 1 -c 4
matlab -nodisplay -r main
