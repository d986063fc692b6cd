"""A cache that forgets what was not used for longest."""

from collections import OrderedDict


class LruCache:
    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._entries = OrderedDict()

    def get(self, key):
        """Give the value and mark it as just used."""
        if key in self._entries:
            self._entries.move_to_end(key)
            return self._entries[key]
        return None

    def put(self, key, value) -> None:
        """Store a value; the least recently used one is evicted when there is no room."""
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self._capacity:
            self._entries.popitem(last=False)
