#!/bin/sh
# One product in several formats, and what the compiler makes of each.
set -eu

product='y(i) = A(i,j) * x(j)'

# Which formats suit the matrix.
tamis info data/bar.mtx.gz

for format in csr csc coo dcsr ell 'bcsr(3,3)'; do
    echo "== $format"
    tamis run "$product" -f "A=$format" -i A=data/bar.mtx.gz -g x=dense
done

# The loops over blocks of three by three.
tamis explain "$product" -f 'A=bcsr(3,3)' --emit plan
