"""``dry-run:v1``, the default: goes through everything and changes nothing."""

from transitions.canonical import canonical_json, fingerprint
from transitions.executors.base import Executor, Recovery, StepRequest, TargetReceipt


class DryRun(Executor):
    """Answers every step with a receipt computed from its key and payload, so that it is the same at each call."""

    code = "dry-run:v1"
    recovery = Recovery.KEYED

    def run(self, request: StepRequest) -> TargetReceipt:
        return TargetReceipt(
            target_id=f"dry-run:{request.key[:16]}",
            fingerprint=fingerprint(canonical_json([request.key, request.payload])),
            details={"dry_run": True, "kind": request.kind, "direction": request.direction},
        )
