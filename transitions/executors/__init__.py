"""What changes a target. Each executor has a code, under which `base` knows it; a row names the code, nothing else."""
