"""Pure functions of arrays that only the published methods use."""
