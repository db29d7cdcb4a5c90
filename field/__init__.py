"""An executable, checked specification of Apache Kafka."""
