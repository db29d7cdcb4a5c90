"""The questions that outgrow one machine, as PySpark jobs."""
