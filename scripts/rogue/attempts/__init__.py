"""The attempts of the rogue suite, by class. Importing the package fills `base.ATTEMPTS`, in this order."""

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
    withheld,  # before those that change the repository, where nothing confines them
    repository,
    scheduling,
    shares,
)
