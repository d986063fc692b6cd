from ratelimit.token_bucket import TokenBucket


def test_token_bucket_allows_a_burst_and_then_refuses():
    bucket = TokenBucket(rate=1, burst=2)
    assert bucket.try_acquire()
    assert bucket.try_acquire()
    assert not bucket.try_acquire()
