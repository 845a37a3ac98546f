#!/usr/bin/env bash
#SBATCH --job-name=cavity
#SBATCH --output=log.%x.%j
#SBATCH --ntasks=4 --nodes=1-2
#SBATCH --time=0-4
#SBATCH --mem-per-cpu=900
. $FOAM_ETC/bashrc
decomposePar -force
mpirun icoFoam -parallel
