#!/bin/bash
#SBATCH -n 4 --threads-per-core=1 --sockets-per-node=1 --cores-per-socket=4
#SBATCH --mem-bind=local
true
