#!/bin/bash
#SBATCH --mem=500m --mem-per-cpu=100k
true
