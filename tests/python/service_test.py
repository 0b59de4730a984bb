"""The Python client of a real service. What needs grpcio is skipped without it."""

import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

sys.path[:0] = [os.path.abspath("python")]

SERVICE = os.path.abspath("tools/service/partita_service")
GRAPH = "tools/models/examples/mlp.pbtxt"
FINISHED = 3


@unittest.skipUnless(importlib.util.find_spec("grpc_reflection"), "grpcio-reflection is not installed")
class ServiceTest(unittest.TestCase):

    def setUp(self):
        import partita
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        token = "0123456789abcdef"
        with open(os.path.join(folder.name, "token"), "w") as file:
            file.write(token + "\n")
        process = subprocess.Popen([SERVICE, "serve", f"--state={folder.name}/state", f"--token={folder.name}/token",
                                    "--address=127.0.0.1:0", "--log=error"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        address = process.stdout.readline().split()[1]
        self.service = partita.Service(address, token=token)
        self.addCleanup(self.service.close)
        self.stranger = partita.Service(address)
        self.addCleanup(self.stranger.close)

    def test_trains_and_predicts(self):
        import numpy
        run = self.service.submit(GRAPH, mock_data=True, steps=3, batch=8, threads=1)
        last = list(self.service.watch(run))[-1]
        self.assertEqual((last.state, last.progress.step), (FINISHED, 3), last.message)
        self.assertTrue(os.path.exists(self.service.save(run)))
        images = numpy.random.default_rng(3).standard_normal((5, 28, 28, 1), dtype=numpy.float32)
        together = self.service.predict(run, images=images)["classifier/bias"]
        alone = self.service.predict(run, images=images[:1].tolist(), values=["classifier/bias"])["classifier/bias"]
        self.assertEqual(together.shape, (5, 10))
        numpy.testing.assert_array_equal(together[:1], alone)
        self.assertEqual([status.id for status in self.service.status().runs], [run])

    def test_plans(self):
        self.assertEqual(self.service.plan(GRAPH, mock_data=True, dp=2, batch=8)["model"], "mlp")

    def test_stops_and_resumes(self):
        run = self.service.submit(GRAPH, mock_data=True, epochs=1000000, batch=8, threads=1)
        next(iter(self.service.watch(run)))
        self.service.cancel(run)
        for _ in self.service.watch(run):
            pass
        self.service.resume(run)
        self.service.cancel(run)

    def test_errors(self):
        import grpc
        import numpy

        def refused(code, says, call, *arguments, **settings):
            with self.assertRaises(grpc.RpcError) as raised:
                call(*arguments, **settings)
            self.assertEqual(raised.exception.code(), code)
            self.assertIn(says, raised.exception.details())

        refused(grpc.StatusCode.UNAUTHENTICATED, "no token", self.stranger.submit, GRAPH, mock_data=True)
        refused(grpc.StatusCode.INVALID_ARGUMENT, "did you mean 'epochs'", self.service.submit, GRAPH, epoch=3)
        refused(grpc.StatusCode.NOT_FOUND, "there is no run", self.service.cancel, "run-9")
        with self.assertRaisesRegex(ValueError, "expected those of int32"):
            self.service.predict("run-9", images=numpy.array([2**40]))
        with self.assertRaisesRegex(TypeError, "expected numbers"):
            self.service.predict("run-9", images=numpy.array(["a"]))


if __name__ == "__main__":
    unittest.main()
