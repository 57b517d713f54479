"""A provider of Apache Airflow: tasks and assets start when partitions arrive (pip install 'metastore[airflow]').

See docs/how-to/airflow.md. `settings`, `waits`, `hub` and `link` do not import Airflow.
"""
