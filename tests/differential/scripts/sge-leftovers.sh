#!/bin/bash
#$ -cwd
#$ -N oldname
#SBATCH -N 1
#SBATCH -t 60
true
