from symposia.models.text.text_cache import MAX_CACHED_BYTES, cache_texts


def test_only_short_texts_are_cached():
    read = []

    @cache_texts(maxsize=8)
    def length(text):
        read.append(len(text))
        return len(text)

    short, long = "a" * 1_000, "a" * MAX_CACHED_BYTES
    assert [length(short), length(text=long), length(short), length(long)] == [1_000, len(long)] * 2
    assert read == [1_000, len(long), len(long)]
