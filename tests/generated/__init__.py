"""Generated SELECTs, generated change scripts, and the change plans of the ones carried out over the others."""
