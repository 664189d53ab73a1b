"""labelgap-papers: the published methods, protocols and tables that labelgap is compared with."""
