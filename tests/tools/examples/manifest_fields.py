"""The fields that manifests in tools/examples/jobs may have, with their types: of Kubernetes 1.31, JobSet v1alpha2 and
kubeflow.org/v1, as their API references have them. A field that is missing here is to be looked up there and added."""

POD = {
    "spec": {
        "restartPolicy": str,
        "terminationGracePeriodSeconds": int,
        "containers": [{
            "name": str,
            "image": str,
            "command": [str],
            "args": [str],
            "env": [{
                "name": str,
                "value": str,
                "valueFrom": {"fieldRef": {"fieldPath": str}, "secretKeyRef": {"name": str, "key": str}},
            }],
            "ports": [{"containerPort": int, "name": str}],
            "resources": {"requests": {"cpu": str, "memory": str}, "limits": {"cpu": str, "memory": str}},
            "volumeMounts": [{"name": str, "mountPath": str}],
        }],
        "volumes": [{"name": str, "persistentVolumeClaim": {"claimName": str}}],
    },
}

JOB = {
    "spec": {
        "completionMode": str,
        "completions": int,
        "parallelism": int,
        "backoffLimit": int,
        "podFailurePolicy": {
            "rules": [{
                "action": str,
                "onExitCodes": {"containerName": str, "operator": str, "values": [int]},
                "onPodConditions": [{"type": str, "status": str}],
            }],
        },
        "template": POD,
    },
}

REPLICAS = {"replicas": int, "restartPolicy": str, "template": POD}

SPECS = {
    ("v1", "Pod"): POD["spec"],
    ("v1", "PersistentVolumeClaim"): {
        "accessModes": [str],
        "storageClassName": str,
        "resources": {"requests": {"storage": str}},
    },
    ("jobset.x-k8s.io/v1alpha2", "JobSet"): {
        "network": {"enableDNSHostnames": bool, "subdomain": str, "publishNotReadyAddresses": bool},
        "failurePolicy": {
            "maxRestarts": int,
            "rules": [{"name": str, "action": str, "onJobFailureReasons": [str]}],
        },
        "replicatedJobs": [{"name": str, "replicas": int, "template": JOB}],
    },
    ("kubeflow.org/v1", "PyTorchJob"): {
        "runPolicy": {"backoffLimit": int, "cleanPodPolicy": str},
        "nprocPerNode": str,
        "pytorchReplicaSpecs": {"Master": REPLICAS, "Worker": REPLICAS},
    },
}


def mistakes(value, allowed, path):
    """A sentence for each field that is unknown or of another type."""
    if isinstance(allowed, type):
        if type(value) is not allowed:
            yield f"{path} is {value!r}; expected {allowed.__name__}"
    elif not isinstance(value, type(allowed)):
        yield f"{path} is {value!r}; expected {type(allowed).__name__}"
    elif isinstance(value, list):
        for index, one in enumerate(value):
            yield from mistakes(one, allowed[0], f"{path}[{index}]")
    else:
        for name, one in value.items():
            if name in allowed:
                yield from mistakes(one, allowed[name], f"{path}.{name}")
            else:
                yield f"{path}.{name} is unknown; expected one of {', '.join(allowed)}"


def mistakes_of(manifest):
    known = SPECS[manifest["apiVersion"], manifest["kind"]]
    return [*mistakes(manifest["spec"], known, f"{manifest['kind']}.spec")]
