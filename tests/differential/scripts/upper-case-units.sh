#!/bin/bash
#SBATCH --mem=1GiB
true
