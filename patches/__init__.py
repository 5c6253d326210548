"""Changes to Celery, kombu, redis-py and hiredis that Symposia needs.

Each module names the upstream issue that it waits for, or the version in which the defect was seen. A test
shows the defect in the unpatched library (most are in `tests/patches`): when it fails, the library was fixed
and the module can be removed.
"""
