from cache.lru import LruCache


def test_lru_cache_evicts_the_least_recently_used_value():
    cache = LruCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.get("a")
    cache.put("c", 3)
    assert cache.get("b") is None
