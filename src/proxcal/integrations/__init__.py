"""proxcal inside other people's frameworks. Each module is imported by its own name and needs that framework."""
