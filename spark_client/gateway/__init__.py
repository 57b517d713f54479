"""A gateway for many users: it authenticates clients with the metastore, and runs one Spark driver for each user.

A client of Spark Connect presents a bearer token, a client of the Thrift server a user name and a password. The gateway
logs in to the metastore with them (`logins`), starts the user's driver (`drivers`), and forwards the connection to it
(`connect_server`, `thrift_server`). The driver reaches the metastore through the gateway (`relay`), which logs in there
as the user. A driver therefore holds no credentials of its user, and no process holds the sessions of two users.
"""
