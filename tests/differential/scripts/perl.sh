#!/usr/bin/perl -w
#SBATCH -n 1
#SBATCH -t 0:30
print "hello\n";
