#!/bin/bash
set -euo pipefail
#SBATCH --time=1:00:00
#SBATCH --mem=2G
echo too late
