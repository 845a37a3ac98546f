#!/bin/bash
#SBATCH --begin=now+1hour
#SBATCH --deadline=now+3hours
#SBATCH -t 30
true
