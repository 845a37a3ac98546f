#!/bin/bash
#SBATCH -J x -N 1 -n 2 -c 2 -t 1:0:0 --mem=1G -o x.o -e x.e
srun true
