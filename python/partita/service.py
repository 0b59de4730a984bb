"""A client of a service (docs/guide/service.md), with arrays of numpy. It needs grpcio and grpcio-reflection, and not the
compiled library: `pip install partita[service]`.

    service = partita.Service("trainer.example:50051", token=open("token").read().strip())
    run = service.submit("model.pbtxt", data="/srv/data", epochs=10)
    for status in service.watch(run):
        print(status.progress.step, status.progress.loss)
    logits = service.predict(run, images=images)["logits"]

Errors are grpc.RpcError: `error.code()`, and the service's sentence in `error.details()`.
"""

import json
import os

import grpc
import numpy
from google.protobuf import descriptor_pool, message_factory
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

_NAME = "partita.v1.Partita"
_TYPES = {"F32": "<f4", "F64": "<f8", "I32": "<i4", "U8": "u1"}
_CODES = {numpy.dtype(dtype): code for code, dtype in _TYPES.items()}


class Service:
    """A connection to the service at "host:port".

    token: what calls carry, if the service has one.
    certificate: PEM text that the service's certificate is checked with; without it the traffic is not encrypted.
    """

    def __init__(self, address, *, token=None, certificate=None):
        self._metadata = [("authorization", f"Bearer {token}")] if token else []
        if certificate is None:
            self._channel = grpc.insecure_channel(address)
        else:
            text = certificate.encode() if isinstance(certificate, str) else certificate
            self._channel = grpc.secure_channel(address, grpc.ssl_channel_credentials(text))
        # The messages are those of the service at hand: it describes them itself.
        self._pool = descriptor_pool.DescriptorPool(ProtoReflectionDescriptorDatabase(self._channel))
        self._methods = self._pool.FindServiceByName(_NAME).methods_by_name

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._channel.close()

    def submit(self, model, *, loss=None, deadline_seconds=0, **settings):
        """Queues a training and returns its id.

        model: the path of a .pbtxt file here, or of any model on the service's machine, where it does not exist here.
        loss: of a .pt2 or .onnx that returns predictions.
        settings: any flag of `trainer train` with _ for -: data="/srv/data", epochs=10, dp=2. Paths are the service's.
        """
        return self._call("Submit", self._request(model, loss, deadline_seconds, settings)).id

    def plan(self, model, *, loss=None, **settings):
        """What `trainer plan --format=json` says of such a run, as a dict."""
        return json.loads(self._call("Plan", self._request(model, loss, 0, settings)).json)

    def watch(self, run):
        """Statuses of the run, the current one first, until it has ended."""
        return self._call("Watch", {"id": run})

    def cancel(self, run):
        """Ends a run after the steps in flight; its model and checkpoint are written."""
        return self._call("Cancel", {"id": run})

    def resume(self, run):
        """Queues a run again that was cancelled or interrupted, or has failed."""
        return self._call("Resume", {"id": run})

    def save(self, run):
        """Writes the model of a run, and returns its path on the service's machine."""
        return self._call("Save", {"id": run}).model_file

    def status(self, run=""):
        """`runs`, `limits` and `versions`; of one run, or of all."""
        return self._call("Status", {"id": run})

    def predict(self, run, *, values=(), timeout=None, **fields):
        """Values of the run's last saved model by name, for arrays by the names of the graph's inputs."""
        request = self._message("Predict", {"run": run, "values": list(values)})
        for name, given in fields.items():
            array = _given(name, given)
            tensor = request.fields[name]
            tensor.type = tensor.DESCRIPTOR.fields_by_name["type"].enum_type.values_by_name[_CODES[array.dtype]].number
            tensor.shape.extend(array.shape)
            tensor.data = array.tobytes()
        return {name: _array(tensor) for name, tensor in self._call("Predict", request, timeout).values.items()}

    def _request(self, model, loss, deadline_seconds, settings):
        path = os.fspath(model)
        source = {"loss": loss or ""}
        if path.endswith(".pbtxt") and os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                source["text"] = file.read()
        else:
            source["path"] = path
        named = {name.replace("_", "-"): _text(value) for name, value in settings.items() if value is not None}
        return {"model": source, "settings": json.dumps(named), "deadline_seconds": deadline_seconds}

    def _message(self, method, values):
        return message_factory.GetMessageClass(self._methods[method].input_type)(**values)

    def _call(self, method, request, timeout=None):
        described = self._methods[method]
        if isinstance(request, dict):
            request = self._message(method, request)
        connect = self._channel.unary_stream if described.server_streaming else self._channel.unary_unary
        call = connect(
            f"/{_NAME}/{method}",
            request_serializer=type(request).SerializeToString,
            response_deserializer=message_factory.GetMessageClass(described.output_type).FromString,
        )
        return call(request, metadata=self._metadata, timeout=timeout)


def _text(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def _given(name, values):
    """The array as the service takes it; floats that are no array's are float32."""
    array = numpy.asarray(values)
    if array.dtype in _CODES and (isinstance(values, numpy.ndarray) or array.dtype.kind != "f"):
        return array
    kind = {"i": "<i4", "u": "<i4", "b": "u1", "f": "<f4"}.get(array.dtype.kind)
    if kind is None:
        raise TypeError(f"field '{name}' is an array of {array.dtype}; expected numbers")
    taken = array.astype(kind)
    if array.dtype.kind in "iu" and (taken != array).any():
        raise ValueError(f"field '{name}' has numbers from {array.min()} to {array.max()}; expected those of int32")
    return taken


def _array(tensor):
    code = tensor.DESCRIPTOR.fields_by_name["type"].enum_type.values_by_number[tensor.type].name
    return numpy.frombuffer(tensor.data, _TYPES[code]).reshape(tuple(tensor.shape))
