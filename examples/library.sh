#!/bin/sh
# A product of sparse matrices as a C library that needs no Tamis, compiled by the system's compiler.
set -eu

folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT

tamis build 'C(i,j) = A(i,k) * B(k,j)' -f A=csr -f B=csr -f C=csr -o "$folder/spgemm"
cat "$folder/spgemm.h"
if command -v cc > /dev/null; then
    cc -O2 -fwrapv -ffp-contract=off -c "$folder/spgemm.c" -o "$folder/spgemm.o"
fi
