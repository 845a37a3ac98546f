#!/bin/bash
#SBATCH -J nf-FASTQC_(SAMPLE_T1)
#SBATCH -o /tmp/.command.log
#SBATCH --no-requeue
#SBATCH --signal B:USR2@30
#SBATCH -c 2
#SBATCH -t 04:00:00
#SBATCH --mem 3072M
NXF_CHDIR=/tmp
# NEXTFLOW TASK: FASTQC (SAMPLE_T1)
set -e
