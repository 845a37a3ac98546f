#!/bin/bash
#SBATCH --output=slurm/%j.log    # File to which STDOUT will be written, %j inserts jobid
#SBATCH --error=slurm/%j.err     # File to which STDERR will be written, %j inserts jobid
#SBATCH --account proj:sub1         # as the portal says
#!SBATCH --constraint gpu         # Use GPU 
#SBATCH --partition=main
#!SBATCH --qos=debug              # see the documentation
##SBATCH --time 00:29:00
#!SBATCH --time 00:29:00          # Regular only allows a max of 12 hours
# SBATCH --nodes=4
#SBATCH --ntasks-per-node=2
srun ./app
