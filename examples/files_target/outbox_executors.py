"""``files:v1``: a step of kind ``file`` writes or removes one text file below ``FILES_TARGET``."""

import json
import os
from pathlib import Path
from typing import Any

from transitions.errors import InvalidPayload
from transitions.executors.base import Executor, Recovery, StepRequest, TargetReceipt, register


class Files(Executor):
    code = "files:v1"
    recovery = Recovery.PROBE

    @property
    def root(self) -> Path:
        return Path(os.environ.get("FILES_TARGET", "files-target")).resolve()

    def check_payload(self, kind: str, payload: dict[str, Any]) -> None:
        name = payload.get("name")
        if kind != "file" or not isinstance(name, str) or Path(name).name != name or name.startswith("."):
            raise InvalidPayload("a step of kind 'file' needs a plain file name as 'name'")

    def run(self, request: StepRequest) -> TargetReceipt:
        self.root.mkdir(parents=True, exist_ok=True)
        file, text = self.root / request.payload["name"], request.payload.get("text")
        if text is None:
            file.unlink(missing_ok=True)
        else:
            _write(file, text)
        receipt = {"target_id": file.name, "fingerprint": request.key[:16], "details": {"removed": text is None}}
        _write(self._receipt_file(request), json.dumps(receipt))  # last: it proves that the step is done
        return TargetReceipt(**receipt)

    def probe(self, request: StepRequest) -> TargetReceipt | None:
        file = self._receipt_file(request)
        return TargetReceipt(**json.loads(file.read_text())) if file.exists() else None

    def _receipt_file(self, request: StepRequest) -> Path:
        return self.root / f".receipt-{request.key}"


def _write(file: Path, text: str) -> None:
    """Whole or not at all, and on the disk when it returns."""
    new = file.with_name(f"{file.name}.{os.getpid()}.new")
    with new.open("w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    new.replace(file)


register(Files())
