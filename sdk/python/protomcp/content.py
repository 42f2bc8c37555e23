"""Content blocks: what a result or a prompt's message consists of."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Union

from .jsontext import base64
from .record import Record


class Content(Record):
    """One block. ``annotations`` (``audience``, ``priority``, ``lastModified``) and ``meta`` are as
    the Model Context Protocol has them."""

    annotations: Optional[Dict[str, Any]]
    meta: Optional[Dict[str, Any]]

    def to_json(self) -> Dict[str, Any]:
        """The block as the protocol spells it."""
        raise NotImplementedError

    def _finish(self, block: Dict[str, Any]) -> Dict[str, Any]:
        if self.annotations is not None:
            block["annotations"] = self.annotations
        if self.meta is not None:
            block["_meta"] = self.meta
        return block


class Text(Content):
    """A text."""

    def __init__(
        self,
        text: str,
        annotations: Optional[Dict[str, Any]] = None,
        meta: Optional[Dict[str, Any]] = None,
    ) -> None:
        self.text = text
        self.annotations = annotations
        self.meta = meta

    def to_json(self) -> Dict[str, Any]:
        return self._finish({"type": "text", "text": self.text})


class _Media(Content):
    _type = ""

    def __init__(
        self,
        data: Union[bytes, str],
        mime_type: str,
        annotations: Optional[Dict[str, Any]] = None,
        meta: Optional[Dict[str, Any]] = None,
    ) -> None:
        self.data = data
        self.mime_type = mime_type
        self.annotations = annotations
        self.meta = meta

    def to_json(self) -> Dict[str, Any]:
        data = self.data if isinstance(self.data, str) else base64(self.data)
        return self._finish({"type": self._type, "data": data, "mimeType": self.mime_type})


class Image(_Media):
    """A picture: its bytes, or their base64 text."""

    _type = "image"

    def __init__(
        self,
        data: Union[bytes, str],
        mime_type: str = "image/png",
        annotations: Optional[Dict[str, Any]] = None,
        meta: Optional[Dict[str, Any]] = None,
    ) -> None:
        super().__init__(data, mime_type, annotations, meta)


class Audio(_Media):
    """A sound: its bytes, or their base64 text."""

    _type = "audio"

    def __init__(
        self,
        data: Union[bytes, str],
        mime_type: str = "audio/wav",
        annotations: Optional[Dict[str, Any]] = None,
        meta: Optional[Dict[str, Any]] = None,
    ) -> None:
        super().__init__(data, mime_type, annotations, meta)


class ResourceLink(Content):
    """Points to a resource that the host may read."""

    def __init__(
        self,
        uri: str,
        name: str,
        title: str = "",
        description: str = "",
        mime_type: str = "",
        size: Optional[int] = None,
        annotations: Optional[Dict[str, Any]] = None,
        meta: Optional[Dict[str, Any]] = None,
    ) -> None:
        self.uri = uri
        self.name = name
        self.title = title
        self.description = description
        self.mime_type = mime_type
        self.size = size
        self.annotations = annotations
        self.meta = meta

    def to_json(self) -> Dict[str, Any]:
        block: Dict[str, Any] = {"type": "resource_link", "uri": self.uri, "name": self.name}
        more = {"title": self.title, "description": self.description, "mimeType": self.mime_type}
        block.update((key, value) for key, value in more.items() if value)
        if self.size is not None:
            block["size"] = self.size
        return self._finish(block)


class EmbeddedResource(Content):
    """A resource's content in place: a ``text``, or bytes as ``blob``."""

    def __init__(
        self,
        uri: str,
        text: Optional[str] = None,
        blob: Optional[bytes] = None,
        mime_type: str = "",
        annotations: Optional[Dict[str, Any]] = None,
        meta: Optional[Dict[str, Any]] = None,
    ) -> None:
        self.uri = uri
        self.text = text
        self.blob = blob
        self.mime_type = mime_type
        self.annotations = annotations
        self.meta = meta

    def to_json(self) -> Dict[str, Any]:
        resource: Dict[str, Any] = {"uri": self.uri}
        if self.mime_type:
            resource["mimeType"] = self.mime_type
        if self.blob is not None:
            resource["blob"] = base64(self.blob)
        else:
            resource["text"] = self.text or ""
        return self._finish({"type": "resource", "resource": resource})


def blocks(value: Any) -> Optional[List[Dict[str, Any]]]:
    """The blocks of a value that is content: a block, or a list with at least one among its items,
    whose texts are blocks too. ``None`` for other values."""
    if isinstance(value, Content):
        return [value.to_json()]
    if isinstance(value, (list, tuple)) and any(isinstance(item, Content) for item in value):
        return [block(item) for item in value]
    return None


def block(value: Any) -> Dict[str, Any]:
    """One block of a value: content, a block spelled out as a dict, or a text."""
    if isinstance(value, Content):
        return value.to_json()
    if isinstance(value, dict) and isinstance(value.get("type"), str):
        return value
    return {"type": "text", "text": value if isinstance(value, str) else str(value)}
