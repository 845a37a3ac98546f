#!/bin/bash
#SBATCH --dependency=afterok:1001,afterany:1002
#SBATCH --kill-on-invalid-dep=yes
true
