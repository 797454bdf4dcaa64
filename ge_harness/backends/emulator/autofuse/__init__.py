"""AutoFuse: lowering into boxes, CanFuse, lifting, names, precision."""
