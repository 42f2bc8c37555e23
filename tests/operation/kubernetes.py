"""Checks a Kubernetes manifest against the schemas of a release, and that its parts fit together.

Says as JSON what its containers run with.
"""

import json
import sys

import kubernetes_validate
import yaml

RELEASES = ["1.30", "1.37"]

path = sys.argv[1]
with open(path) as file:
    documents = list(yaml.safe_load_all(file))

for document in documents:
    for release in RELEASES:
        kubernetes_validate.validate(document, release, strict=True)

of = {document["kind"]: document for document in documents}
assert len(of) == len(documents) == 4, sorted(of)
pods = of["Deployment"]["spec"]["template"]
labels = pods["metadata"]["labels"]
for kind, selector in [
    ("Deployment", of["Deployment"]["spec"]["selector"]["matchLabels"]),
    ("PodDisruptionBudget", of["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"]),
    ("Service", of["Service"]["spec"]["selector"]),
]:
    assert selector.items() <= labels.items(), f"{kind} selects other pods"
(container,) = pods["spec"]["containers"]
ports = {port["name"]: port["containerPort"] for port in container["ports"]}
for port in of["Service"]["spec"]["ports"]:
    assert port["targetPort"] in ports, port
probes = {}
for name in ("readinessProbe", "livenessProbe"):
    asked = container[name]["httpGet"]
    probes[name] = [ports[asked["port"]], asked["path"]]
assert str(ports["http"]) == pods["metadata"]["annotations"]["prometheus.io/port"]
environment = {}
for variable in container["env"]:
    secret = variable["valueFrom"]["secretKeyRef"]
    assert secret["name"] == of["Secret"]["metadata"]["name"], secret
    environment[variable["name"]] = of["Secret"]["stringData"][secret["key"]]
waits = container["lifecycle"]["preStop"]["sleep"]["seconds"]
grace = pods["spec"]["terminationGracePeriodSeconds"]

json.dump(
    {
        "args": container["args"],
        "environment": environment,
        "probes": probes,
        "replicas": of["Deployment"]["spec"]["replicas"],
        "ends_within": grace - waits,
        "user": pods["spec"]["securityContext"]["runAsUser"],
    },
    sys.stdout,
)
