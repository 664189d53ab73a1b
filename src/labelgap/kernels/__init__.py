"""Pure functions of arrays: no state, no printing, random generators passed in."""
