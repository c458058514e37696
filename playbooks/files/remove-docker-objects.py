"""Remove the containers and images that carry the testbed's label; prints what it removed, one a line."""

import docker
import docker.errors

LABEL = {"label": "ncp-testbed"}

try:
    engine = docker.from_env(timeout=30)
    containers = engine.containers.list(all=True, filters=LABEL)
except docker.errors.DockerException:
    raise SystemExit(0) from None  # no engine, so nothing of ours is in it

for container in containers:
    container.remove(force=True)
    print("container", container.name)
for image in engine.images.list(filters=LABEL):
    engine.images.remove(image.id, force=True)
    print("image", *image.tags)
