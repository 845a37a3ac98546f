#!/bin/sh

#SBATCH --ntasks=1 
#SBATCH --mem=3900
#SBATCH --cpus-per-task=4
#SBATCH --time=30:00:00
#SBATCH --job-name=bwa-mem
#SBATCH --mail-user=someone@example.org

module load biology
bwa mem -t 4 ref.fa r1.fq r2.fq | samtools sort -@ 4 -o out.bam
