#!/bin/bash
#SBATCH -s -O
#SBATCH -n 6 -N 1
true
