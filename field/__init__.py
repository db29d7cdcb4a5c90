"""Tools for real systems: settings, brokers, clients, logs, disks, recorded traces, the oracle."""
