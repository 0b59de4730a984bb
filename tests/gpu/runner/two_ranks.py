"""Two processes that share the GPU: for NCCL, which wants a GPU for each, they are on two hosts."""

import contextlib
import socket


@contextlib.contextmanager
def reserved_port():
    """No other program gets it before rank 0 listens there."""
    with socket.socket() as reserved:
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.bind(("127.0.0.1", 0))
        yield reserved.getsockname()[1]


def variables(rank, port):
    return {"RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port), "NCCL_HOSTID": f"rank{rank}"}
