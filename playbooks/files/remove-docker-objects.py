"""Remove the testbed's containers, volumes and images, by their labels; prints what it removed, one a line."""

import docker
import docker.errors

SERVICES = "com.docker.compose.project=ncp-testbed"

try:
    engine = docker.from_env(timeout=30)
    containers = engine.containers.list(all=True, filters={"label": "ncp-testbed.run"})
    # Grafana, of docker-compose.yml
    containers += engine.containers.list(all=True, filters={"label": SERVICES})
except docker.errors.DockerException:
    raise SystemExit(0) from None  # no engine, so nothing of ours is in it

for container in containers:
    container.remove(force=True)
    print("container", container.name)
for volume in engine.volumes.list(filters={"label": SERVICES}):
    volume.remove(force=True)
    print("volume", volume.name)
for image in engine.images.list(filters={"label": "ncp-testbed"}):
    engine.images.remove(image.attrs["Id"], force=True)
    print("image", *image.tags)
