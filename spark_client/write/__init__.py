"""Writes data: the only package that creates, moves or deletes the files of tables.

An INSERT passes through these objects::

    InsertInto          JSON from the JVM's parser (spark_client/jvm/requests.py)
        |  handlers.py adds the query plan as a DataFrame
    Insert              the request: table name, rows, PARTITION clause, options
        |  insert.py resolves the table and the clause, casts the rows, reads the partitions
    Write, Snapshot     the resolved target; the partitions with their versions
        |  Commit registers the write (Lease); staging.py runs one Spark job into _versions/<query id>
    StagedFile          a file that the job wrote: location, partition, skew directory, size, rows
        |  PlacementPlanner (pure)
    Placement           renames, and each partition as it will be published
        |  Commit runs the renames (Journal); publication.py publishes all writes of the statement in one call
    WriteResult         counts for the caller

Why each of them is needed:

- `InsertInto` cannot hold a DataFrame, and the Python API (`writer.py`, `streams.py`) needs no JSON.
- `Write` is what commits have in common. TRUNCATE and CONCATENATE have a `Write`, but nothing to insert.
  `Snapshot` is read before the job runs, because publishing compares its versions.
- `Placement` is planned without touching files, so that property tests cover all layouts. An append that meets another
  writer plans again with a new snapshot, and the journal runs only the difference.
- `Commit` is not another form of the data: it manages the lifetime of one `Write`, and can undo it.

DELETE, UPDATE and MERGE (`row_changes.py`) become `Insert`s that replace partitions. CREATE TABLE AS SELECT fills a
`TemporaryTable` by an `Insert` and renames it.
"""
