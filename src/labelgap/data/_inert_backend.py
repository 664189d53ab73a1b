"""A build backend that builds nothing: it answers pip's question for a name and a version.

``pip download`` prepares the metadata of every source distribution, and for that runs the code in
it. Fetching data must not run code, so pip is given this module under the name of setuptools: it
reads the name and the version from the file ``PKG-INFO`` and stops there. Standard library only.
"""

import os
import sys


def get_requires_for_build_wheel(config_settings=None):
    return []


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    fields = {}
    with open("PKG-INFO", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if not line.strip():
                break
            key, _, value = line.partition(":")
            fields.setdefault(key.strip().lower(), value.strip())
    name, version = fields["name"], fields["version"]
    folder = f"{name.replace('-', '_')}-{version}.dist-info"
    os.makedirs(os.path.join(metadata_directory, folder))
    with open(os.path.join(metadata_directory, folder, "METADATA"), "w", encoding="utf-8") as out:
        out.write(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    return folder


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    raise RuntimeError("this backend downloads data and builds nothing")


# what pip asks for when a source distribution does not name its backend
__legacy__ = sys.modules[__name__]
