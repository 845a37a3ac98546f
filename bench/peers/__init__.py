"""What Minke is measured against, one program a file."""
