"""Model checking that outgrows one machine, as PySpark jobs."""
