#!/bin/bash
#SBATCH --mem=4 G
true
