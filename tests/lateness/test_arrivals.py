"""What the module of this name promises."""
