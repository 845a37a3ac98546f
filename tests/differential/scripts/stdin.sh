#!/bin/bash
#SBATCH -i input.%j
#SBATCH -o /dev/null -e /dev/null
cat
