for i in $(seq 500); do /tmp/minke-t3 sbatch -Q -H --wrap true; done
