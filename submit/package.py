"""Zip the common package for --py-files, the same bytes for the same sources."""

import io
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "dist" / "common.zip"
EPOCH = (1980, 1, 1, 0, 0, 0)


def zipped(package: Path) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for source in sorted(package.rglob("*.py")):
            entry = zipfile.ZipInfo(str(source.relative_to(package.parent)), EPOCH)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, source.read_bytes(), zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def main() -> None:
    content = zipped(ROOT / "common")
    if TARGET.exists() and TARGET.read_bytes() == content:
        return
    TARGET.parent.mkdir(exist_ok=True)
    partial = TARGET.with_suffix(".partial")
    partial.write_bytes(content)
    partial.replace(TARGET)


if __name__ == "__main__":
    main()
