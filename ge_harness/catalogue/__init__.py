"""What is known of every pass: level, precision class, how to switch it off."""
