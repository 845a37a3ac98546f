#!/bin/bash
#PBS -N oldname
#PBS -l nodes=1:ppn=4
#PBS -l walltime=01:00:00
#PBS -j oe
#PBS -o out.log
#SBATCH --mem=1G
cd $PBS_O_WORKDIR
