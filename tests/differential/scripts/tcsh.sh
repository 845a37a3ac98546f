#!/bin/tcsh -f
#SBATCH -J tcsh
#SBATCH -o out.%N.%j
#SBATCH --nice=100
echo $HOST
