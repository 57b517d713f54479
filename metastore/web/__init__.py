"""The HTTP port: metrics, health checks, the calls of a server and the console, as an ASGI application.

Imported only by the process that serves the HTTP port: Starlette and uvicorn take time and memory to load.
"""
