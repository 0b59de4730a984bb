"""The Python package over the compiled library: what it trains and predicts is what the trainer does, and what a caller
does wrong is an exception with a sentence."""

import copy
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path[:0] = [os.path.abspath("python"), os.path.abspath("../python_wheels/site")]
os.environ["PARTITA_LIBRARY"] = os.path.abspath("partita/c/libpartita.so.0")

import numpy  # noqa: E402

import partita  # noqa: E402

TRAINER = os.path.abspath("tools/trainer")
GRAPH = "tools/models/examples/mlp.pbtxt"


class SessionTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        random = numpy.random.default_rng(3)
        self.images = random.standard_normal((96, 28, 28, 1), dtype=numpy.float32)
        self.labels = random.integers(0, 10, 96)
        self.batch = {"images": self.images[:32], "labels": self.labels[:32]}
        self.model = partita.Model(GRAPH).with_batch(32)

    def path(self, name):
        return os.path.join(self.folder, name)

    def bytes_of(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def test_a_model_says_what_a_batch_contains(self):
        fields = self.model.fields
        self.assertEqual({name: (str(f.dtype), f.shape) for name, f in fields.items()},
                         {"images": ("float32", (32, 28, 28, 1)), "labels": ("int32", (32,))})
        with open(GRAPH) as file:
            self.assertEqual(partita.Model.parse(file.read()).fields["labels"].shape, (64,))

    def test_training_gives_the_bits_of_the_trainer(self):
        numpy.savez(self.path("set.npz"), **{"train/images": self.images, "train/labels": self.labels.astype("int32")})
        common = {"epochs": 2, "batch": 32, "dp": 2, "threads": 1, "deterministic": True}
        flags = [f"--{name}={str(value).lower()}" for name, value in common.items()]
        done = subprocess.run([TRAINER, "train", *flags, "--data=" + self.path("set.npz"),
                               "--save=" + self.path("a.safetensors"), GRAPH], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        told = []
        session = partita.fit(GRAPH, {"images": self.images, "labels": self.labels.astype("int32")}, split={"dp": 2},
                              save=self.path("b.safetensors"), on_epoch=told.append,
                              **{name: value for name, value in common.items() if name != "dp"})
        self.assertEqual(told, session.epochs)
        self.assertEqual([epoch.number for epoch in told], [1, 2])
        trained = {}
        for name in ("a", "b"):
            with partita.Session(self.model, train=False, predict=["classifier/bias"], threads=1) as reader:
                reader.load_weights(self.path(name + ".safetensors"))
                trained[name] = {state: reader.read(state).copy() for state in reader.states}
        self.assertGreater(len(trained["a"]), 5)
        for state, array in trained["a"].items():
            numpy.testing.assert_array_equal(array, trained["b"][state], state)

    def test_steps_learn_and_a_saved_session_continues_bitwise(self):
        with partita.Session(self.model, threads=1, steps=20) as session:
            losses = [session.step(**self.batch).loss for _ in range(10)]
            self.assertLess(losses[-1], losses[0])
            session.save(self.path("half.safetensors"))
            rest = [session.step(**self.batch) for _ in range(5)]
            self.assertEqual(list(rest[0].metrics), ["accuracy"])
        with partita.Session(self.model, threads=1, steps=20) as session:
            session.load(self.path("half.safetensors"))
            self.assertEqual([session.step(**self.batch) for _ in range(5)], rest)
            self.assertIsInstance(session.evaluate(**self.batch).loss, float)

    def test_steps_return_the_norm_of_gradients_if_asked(self):
        with partita.Session(self.model, threads=1, steps=2) as session:
            self.assertIsNone(session.step(**self.batch).gradient_norm)
        with partita.Session(self.model, threads=1, steps=2, gradient_norm=True) as session:
            self.assertGreater(session.step(**self.batch).gradient_norm, 0)

    def test_predictions_are_arrays_that_outlive_their_session(self):
        with partita.Session(self.model, predict=["classifier/bias"], dp=2, threads=1, steps=1) as session:
            logits = session.predict(images=self.images[:5])["classifier/bias"]
            whole = session.predict(images=self.images[:32].astype("float64"))["classifier/bias"]
            weights = session.read("classifier/matmul/weights")
            session.write("classifier/matmul/weights", weights * 0)
            zero = session.predict(images=self.images[:5])["classifier/bias"]
        self.assertEqual((logits.shape, logits.dtype), ((5, 10), numpy.float32))
        numpy.testing.assert_array_equal(logits, whole[:5])
        numpy.testing.assert_array_equal(zero, numpy.zeros((5, 10)))
        self.assertTrue(weights.any())

    def test_mistakes_are_exceptions(self):
        def refused(kind, call, *words):
            with self.assertRaises(kind) as raised:
                call()
            self.assertIsInstance(raised.exception, partita.Error)
            for word in words:
                self.assertIn(word, str(raised.exception))

        refused(partita.InvalidArgument, lambda: partita.Model("none.pbtxt"), "none.pbtxt")
        refused(ValueError, lambda: partita.Session(self.model, epoch=3), "no setting 'epoch'", "'epochs'")
        refused(partita.InvalidArgument, lambda: partita.Session(self.model, dp=33), "33")
        with partita.Session(self.model, threads=1, steps=5) as session:
            refused(partita.InvalidArgument, lambda: session.step(images=self.images[:32]), "field 'labels' is missing")
            refused(partita.InvalidArgument, lambda: session.step(image=1), "no field 'image'", "'images'")
            refused(partita.InvalidArgument, lambda: session.step(**{**self.batch, "label": self.labels[:32]}), "'label'")
            wrong = {**self.batch, "labels": self.labels[:32] + 2**40}
            refused(partita.InvalidArgument, lambda: session.step(**wrong), "field 'labels'", "int32")
            wrong = {**self.batch, "images": self.images[:32].astype("int64")}
            refused(partita.InvalidArgument, lambda: session.step(**wrong), "field 'images' is an array of int64")
            wrong = {**self.batch, "labels": self.labels[:32] + 10}
            refused(partita.InvalidArgument, lambda: session.step(**wrong), "label")
            refused(partita.InvalidArgument, lambda: session.fit(), "without the setting data")
            self.assertGreater(session.step(**self.batch).loss, 0)
        refused(partita.Misuse, lambda: session.step(**self.batch), "the session is closed")
        for batch in (0, 2**31, 2**64 + 8):
            refused(partita.InvalidArgument, lambda: self.model.with_batch(batch), "batch is")
        refused(partita.InvalidArgument, lambda: partita.fit(GRAPH, {}, split={"dp": 2}, devices=4), "devices is 4")
        refused(partita.InvalidArgument, lambda: partita.fit(GRAPH, {}, split={"dp": 2}, dp=1), "dp=2", "dp is 1")
        refused(partita.InvalidArgument, lambda: partita.fit(self.model, {}, loss="mse"), "give it to Model")
        refused(partita.InvalidArgument, lambda: partita.fit(GRAPH, self.data(), split="none.pbtxt"), "none.pbtxt")
        extra = {**self.data(), "image": self.images}
        refused(partita.InvalidArgument, lambda: partita.fit(GRAPH, extra), "'image'", "images, labels", "train/...")
        refused(partita.InvalidArgument, lambda: partita.fit(GRAPH, {"dev/images": self.images}), "'dev/images'")
        large = {**self.data(), "labels": self.labels + 2**40}
        refused(partita.InvalidArgument, lambda: partita.fit(GRAPH, large), "field 'labels'", "int32")
        with self.assertRaisesRegex(partita.InvalidArgument, "^data, training set: .*labels"):
            partita.fit(GRAPH, {"images": self.images})
        with self.assertRaisesRegex(ValueError, "null character"):
            partita.Model("a\0b")
        with self.assertRaisesRegex(TypeError, "cannot be copied"):
            copy.deepcopy(self.model)

    def test_what_strangers_pass_is_refused_before_anything_runs(self):
        def refused(words, call):
            with self.assertRaisesRegex(partita.InvalidArgument, words):
                call()

        def fit(data, model=self.model, **settings):
            partita.fit(model, data, epochs=1, threads=1, **settings).close()

        arrays = self.data()
        for data, kind in ((None, "NoneType"), (list(arrays.values()), "list"), (self.images, "ndarray")):
            refused(f"^data is of type {kind}; expected a dict of arrays by field .images, labels.", lambda: fit(data))
        refused("^data has '0'; expected the fields images, labels", lambda: fit({0: self.images}))
        refused("^field 'images' is of type list, and no array: ", lambda: fit({**arrays, "images": [[1], [2, 3]]}))
        for split in ("automatic", 2, (2, 1)):
            refused("^split is .*; expected a dict .*, a search .auto, data, .*, the path of a strategy",
                    lambda: fit(arrays, split=split))
        refused("^split has 'data'; expected dp, mp, ", lambda: fit(arrays, split={"data": 2}))
        refused("^split is 'auto' for 4 devices of an unknown machine", lambda: fit(arrays, split="auto", devices=4))
        refused("^the model is of type object; expected a partita.Model, or the path", lambda: fit(arrays, object()))
        refused("^the path of a model has several lines; Model.parse", lambda: fit(arrays, "name: 'x'\nloss: 'y'\n"))
        refused("^on_epoch is of type int; expected a function", lambda: fit(arrays, on_epoch=3))
        with open(GRAPH, encoding="utf-8") as file:
            colours = partita.Model.parse(file.read().replace("[64, 28, 28, 1]", "[64, 14, 14, 4]"))
        first = numpy.zeros((64, 4, 14, 14), "float32")
        labels = numpy.zeros(64, "int32")
        wanted = "^field 'images' has images of 4 x 14 x 14; expected their channels last, 14 x 14 x 4: "
        refused(wanted, lambda: fit({"images": first, "labels": labels}, colours))
        with partita.Session(colours, threads=1, steps=1) as session:
            refused(wanted, lambda: session.step(images=first, labels=labels))

    def test_data_and_settings_have_several_forms(self):
        numpy.savez(self.path("own.npz"), **self.data())
        with partita.fit(self.model, numpy.load(self.path("own.npz")), epochs=1, threads=1,
                         freeze=["dense1*", "dense2*"]) as session:
            self.assertEqual(len(session.epochs), 1)
            trained = session.read("dense1/matmul/weights").copy()
        with partita.fit(self.model, self.data(), epochs=1, threads=1, freeze="dense1*,dense2*", split="auto",
                         devices=2) as session:
            numpy.testing.assert_array_equal(session.read("dense1/matmul/weights"), trained)

    def test_what_is_written_becomes_of_the_states_type(self):
        with partita.Session(self.model, threads=1, steps=5) as session:
            name = next(state for state in session.states if session.read(state).dtype == numpy.float32)
            half = numpy.full(session.read(name).shape, 0.5)
            session.write(name, half)
            self.assertTrue((session.read(name) == 0.5).all())

    def test_numbers_of_a_dict_become_those_of_the_fields(self):
        one = partita.fit(GRAPH, {**self.data(), "images": self.images.astype("float64"), "labels": list(self.labels)},
                          batch=32, epochs=1, threads=1)
        other = partita.fit(GRAPH, self.data(), batch=32, epochs=1, threads=1)
        with one, other:
            self.assertEqual(one.epochs[0].loss, other.epochs[0].loss)

    def data(self):
        return {"images": self.images, "labels": self.labels.astype("int32")}

    def test_a_fit_ends_at_a_signal_and_as_soon_as_progress_says(self):
        numpy.savez(self.path("set.npz"), **{"train/" + name: array for name, array in self.data().items()})
        settings = {"data": self.path("set.npz"), "batch": 32, "epochs": 10**6, "threads": 1}
        with partita.Session(partita.Model(GRAPH), **settings) as session:
            for _ in range(3):
                timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
                timer.start()
                with self.assertRaises(KeyboardInterrupt):
                    session.fit(deadline_seconds=30)
            told = []
            session.fit(on_progress=lambda progress: told.append(progress.step) or len(told) < 3, progress_seconds=0.1,
                        deadline_seconds=30)
            self.assertEqual(len(told), 3, "also where epochs are shorter than what lies between two calls")
            session.fit(on_progress=lambda progress: numpy.bool_(False), progress_seconds=0.1, deadline_seconds=30)
            with self.assertRaisesRegex(partita.InvalidArgument, "deadline_seconds is nan"):
                session.fit(deadline_seconds=float("nan"))

    def test_a_fit_ends_as_its_callbacks_say_and_continues(self):
        data = self.data()
        settings = {"batch": 32, "epochs": 4, "threads": 1}

        def stop(epoch):
            if epoch.number == 2:
                raise KeyboardInterrupt

        numpy.savez(self.path("set.npz"), **{"train/" + name: array for name, array in data.items()})
        with partita.Session(partita.Model(GRAPH), data=self.path("set.npz"), **settings) as session:
            with self.assertRaises(KeyboardInterrupt):
                session.fit(on_epoch=stop)
            self.assertEqual([epoch.number for epoch in session.fit()][-1], 4)
            states = {state: session.read(state).copy() for state in session.states}
        whole = partita.fit(GRAPH, data, **settings)
        for state, array in states.items():
            numpy.testing.assert_array_equal(array, whole.read(state), state)

    def test_a_callback_closes_its_session(self):
        numpy.savez(self.path("set.npz"), **{"train/" + name: array for name, array in self.data().items()})
        session = partita.Session(self.model, data=self.path("set.npz"), epochs=10**6, threads=1)
        refused = []

        def end(epoch):
            with self.assertRaises(partita.Misuse) as raised:
                session.save(self.path("never.safetensors"))
            refused.append(str(raised.exception))
            session.close()

        epochs = session.fit(on_epoch=end)
        self.assertGreaterEqual(len(epochs), 1)
        self.assertIn("a session runs one call at a time", refused[0])
        with self.assertRaisesRegex(partita.Misuse, "the session is closed"):
            session.fit()

    def test_another_thread_closes_the_session_that_steps(self):
        for _ in range(5):
            session, refused = partita.Session(self.model, threads=1, steps=10**6), []

            def steps(session=session, refused=refused):
                try:
                    while True:
                        session.step(**self.batch)
                except partita.Misuse as error:
                    refused.append(str(error))

            thread = threading.Thread(target=steps)
            thread.start()
            time.sleep(0.1)
            session.close()
            thread.join()
            self.assertEqual(len(refused), 1)

    def test_two_sessions_at_once_train_as_each_alone(self):
        def trained(seed):
            with partita.Session(self.model, dp=2, threads=1, steps=20, seed=seed) as session:
                for _ in range(20):
                    session.step(**self.batch)
                return {name: session.read(name).tobytes() for name in session.states}

        alone = [trained(seed) for seed in (1, 2)]
        self.assertNotEqual(*alone)
        together = [None, None]
        threads = [threading.Thread(target=lambda i=i: together.__setitem__(i, trained(i + 1))) for i in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(together, alone)

    def test_hundreds_of_sessions_leave_nothing_behind(self):
        small = partita.Model(GRAPH).with_batch(2)

        def left():
            """Threads, descriptors and pages of memory."""
            with open("/proc/self/statm") as file:
                pages = int(file.read().split()[1])
            return len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd")), pages

        for count in range(300):
            partita.Session(small, threads=1, steps=1).close()
            if count == 49:
                before = left()
        after = left()
        self.assertEqual(after[:2], before[:2])
        self.assertLess((after[2] - before[2]) * os.sysconf("SC_PAGE_SIZE"), 8 << 20)

    def test_another_thread_cancels(self):
        with partita.Session(self.model, threads=1, steps=10**6) as session:
            threading.Timer(0.2, session.cancel).start()
            with self.assertRaises(partita.Cancelled):
                while True:
                    session.step(**self.batch)

    def test_the_log_goes_to_the_caller(self):
        lines = []
        partita.set_log(lambda level, line: lines.append((level, line)))
        try:
            partita.fit(GRAPH, {"images": self.images, "labels": self.labels.astype("int32")}, batch=32, epochs=1)
        finally:
            partita.set_log(None)
        self.assertTrue(all(level in ("detail", "info", "warning") for level, _ in lines))
        self.assertRegex(partita.version(), r"^\d+\.\d+\.\d+$")

    def test_what_needs_torch_is_loaded_when_it_is_used(self):
        code = "import sys, partita; partita.Session; print(json.dumps('torch' in sys.modules))"
        done = subprocess.run([sys.executable, "-c", "import json; " + code], capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
        self.assertFalse(json.loads(done.stdout), done.stderr)


if __name__ == "__main__":
    unittest.main()
