#!/bin/sh
# Generates thrift_idl/gen (or the directory $1) from the IDL files in this directory. Needs Debian's thrift-compiler.
# `dynamic,slots` halves the memory of the generated code. Thrift's C extension encodes and decodes in any case.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
target=${1:-$here/gen}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for file in fb303 hive_metastore metastore; do
  thrift --gen py:dynamic,slots -I "$here" -out "$work" "$here/$file.thrift"
done
find "$work" -name '*-remote' -delete
# Thrift 0.17 generates immutable exceptions. Python must be able to set their traceback, which contextlib does.
find "$work" -name '*.py' -exec sed -i \
  -e '/def __setattr__(self, \*args):/,+2d' -e '/def __delattr__(self, \*args):/,+2d' {} +
rm -rf "$target"
mv "$work/thrift_idl/gen" "$target"
# A test compares these checksums if there is no compiler, to detect manual changes of the IDL or the code.
sums() { (cd "$1" && find . -name "$2" | LC_ALL=C sort | sed 's|^\./||' | xargs sha256sum); }
{
  sums "$here" '*.thrift'
  sums "$target" '*.py' | sed 's|  |  gen/|'
} >"$work/SHA256SUMS"
mv "$work/SHA256SUMS" "$target"
