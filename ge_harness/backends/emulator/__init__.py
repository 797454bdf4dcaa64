"""Backend emulator: a host model of GE and AutoFuse, never a measurement."""
