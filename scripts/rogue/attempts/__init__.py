"""The attempts of the rogue suite, by class. Importing the package fills `base.ATTEMPTS`."""

from . import (  # noqa: F401
    architecture,
    descriptors,
    files,
    history,
    identity,
    interfaces,
    kernel,
    messages,
    modes,
    mounts,
    network,
    processes,
    proxy,
    reads,
    repository,
    scheduling,
    shares,
)
