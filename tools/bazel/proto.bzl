"""partita_proto_library: a cc_library from .proto files, by Debian's protoc."""

load("@rules_cc//cc:defs.bzl", "cc_library")

def _protos(label):
    """The label of the .proto files (transitive) behind a partita_proto_library."""
    if ":" not in label:
        label = label + ":" + label.split("/")[-1]
    return label + "_protos"

def _repository_root():
    """The folder, from where actions run, of the repository whose BUILD file is read."""
    name = native.repository_name()[len("@"):]
    return "external/" + name if name else "."

def partita_proto_library(name, srcs, deps = [], visibility = None, grpc = False):
    """Generates C++ from protos and compiles it.

    Protos import each other from the repository's root: import "proto/graph.proto".

    Args:
      name: the cc_library's name.
      srcs: .proto files of this package.
      deps: partita_proto_library labels whose files srcs import.
      visibility: of the library.
      grpc: whether there are services too: PROTO.grpc.pb.h, by Debian's plugin.
    """
    native.filegroup(
        name = name + "_protos",
        srcs = srcs + [_protos(dep) for dep in deps],
        visibility = visibility,
    )
    headers = [src.replace(".proto", ".pb.h") for src in srcs]
    sources = [src.replace(".proto", ".pb.cc") for src in srcs]
    if grpc:
        headers += [src.replace(".proto", ".grpc.pb.h") for src in srcs]
        sources += [src.replace(".proto", ".grpc.pb.cc") for src in srcs]
    protos = ["$(location %s)" % src for src in srcs]
    root = _repository_root()
    out = "$(GENDIR)/" + root
    services = " --plugin=protoc-gen-grpc=/usr/bin/grpc_cpp_plugin --grpc_out=" + out if grpc else ""
    native.genrule(
        name = name + "_generate",
        srcs = srcs + [":" + name + "_protos"],
        outs = headers + sources,
        cmd = "protoc -I{} --cpp_out={}{} {}".format(root, out, services, " ".join(protos)),
        message = "Generating C++ of " + name,
    )
    cc_library(
        name = name,
        srcs = sources,
        hdrs = headers,
        copts = ["-w"],
        visibility = visibility,
        deps = deps + ["//tools/bazel/third_party:" + ("grpc" if grpc else "protobuf")],
    )
