"""What is measured, one question a file. Each has NAME, and measure(context, report)."""
