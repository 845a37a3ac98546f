#!/bin/bash
#SBATCH -t=01:00:00
#SBATCH -N=1
true
