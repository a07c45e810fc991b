"""What the services of this app refuse, and why. Each message is fit for an operator's eyes."""


class TransitionError(Exception):
    """A request was refused, or a batch can't go on. Nothing was written by the call that raised it."""

    code = "refused"


class InvalidValue(TransitionError):
    """A value that can't be stored and read back as it is; the message names its path and the rule."""

    code = "invalid_value"


class InvalidManifest(TransitionError):
    """A manifest that breaks the contract of `transitions.manifests`."""

    code = "invalid_manifest"


class ReleaseConflict(TransitionError):
    """This version of the plugin was imported before, with other content."""

    code = "release_conflict"


class UntrustedContribution(TransitionError):
    """A release that nobody has marked as trusted."""

    code = "untrusted"


class ContributionChanged(TransitionError):
    """A stored manifest is not what was fingerprinted, or not what was planned."""

    code = "contribution_changed"


class PlanChanged(TransitionError):
    """A stored plan is not what was fingerprinted."""

    code = "plan_changed"


class ImpossiblePlan(TransitionError):
    """No plan leads from the one release to the other."""

    code = "impossible_plan"


class NoReverse(TransitionError):
    """A step that would have to be undone has no reverse payload."""

    code = "no_reverse"


class NotAllowed(TransitionError):
    """The state of the transition does not allow the operation now."""

    code = "not_allowed"


class UnknownExecutor(TransitionError):
    """No executor of this code is registered in this process."""

    code = "unknown_executor"


class InvalidPayload(TransitionError):
    """An executor refuses a step's payload, before anything is queued."""

    code = "invalid_payload"


class LeaseActive(TransitionError):
    """A worker holds the command; its lease can't be taken away by hand."""

    code = "lease_active"

    def __init__(self, owner: str, seconds_left: float) -> None:
        self.owner = owner
        self.seconds_left = seconds_left
        super().__init__(f"unchanged: active lease for {seconds_left:.0f} s more by {owner}")
