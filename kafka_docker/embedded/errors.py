"""Errors of the services.

AlluviumError                1
└── ServiceError
    ├── PortTaken                somebody else listens there
    ├── StartFailed              it ended, or did not answer within its bound; names its log
    ├── NotRunning               the command needs a running service
    ├── JavaMissing
    ├── ArtifactsMissing         the jars or the server's files could not be had
    └── FolderUnusable           the services' folder cannot be written
"""

from common.errors import AlluviumError


class ServiceError(AlluviumError):
    """A service cannot do what was asked."""


class PortTaken(ServiceError):
    """Another process listens on the port."""


class StartFailed(ServiceError):
    """The process ended while starting, or never answered."""


class NotRunning(ServiceError):
    """The service is not running."""


class JavaMissing(ServiceError):
    """No Java runtime was found."""


class ArtifactsMissing(ServiceError):
    """The service's files could not be fetched or unpacked."""


class FolderUnusable(ServiceError):
    """The folder of the services cannot be written."""
