#!/bin/bash
#SBATCH --export=PATH,HOME,OMP_NUM_THREADS=4
true
