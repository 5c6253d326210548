"""A pool of connections to a line protocol server."""

import socket
from queue import Queue

GREETING = b"READY\n"


class Pool:
    def __init__(self, address, size):
        self._address = address
        self._free = Queue()
        for _ in range(size):
            self._free.put(self._connect())

    def _connect(self):
        connection = socket.create_connection(self._address, timeout=10)
        if connection.recv(len(GREETING)) != GREETING:
            raise ConnectionError("the server did not greet")
        return connection

    def ask(self, line):
        connection = self._free.get()
        connection.sendall(line.encode() + b"\n")
        answer = connection.makefile().readline()
        self._free.put(connection)
        return answer.rstrip("\n")

    def close(self):
        while not self._free.empty():
            self._free.get().close()
